# SPDX-License-Identifier: Apache-2.0
"""The cases' common parts: the daemon under test, origins that write down what they are asked, bytes on sockets."""
