# SPDX-License-Identifier: Apache-2.0
"""What the cases share: the daemon under test, origins that write down what they are asked, and bytes on sockets."""
