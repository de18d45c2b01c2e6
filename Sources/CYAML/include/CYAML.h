/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CYAML_H
#define CYAML_H
#include <yaml.h>
#endif
