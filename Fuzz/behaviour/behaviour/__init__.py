# SPDX-License-Identifier: Apache-2.0
"""Clients and origins that misbehave by chance, and a real daemon between them."""
