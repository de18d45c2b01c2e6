# SPDX-License-Identifier: Apache-2.0
#
# Budgets: target, lines, files, types. `scripts/size` compares; it says how a budget changes.
Larder                 14565     133     330
LarderAdmin             9059      69     101
LarderCLI               9361      96     180
LarderCodings            578       7      22
LarderDaemon              67       2       2
LarderDashboard           35       1       1
LarderHTTP              4667      54      68
LarderIO                6594      72     118
LarderProgram              9       1       1
LarderProxy            25203     207     390
LarderRules             6074      60     133
LarderSettings          8153      81     133
LarderShared            3093      24      61
LarderSharing            969       7      15
LarderStores            8399      67     129
LarderTesting            389       4      17
LarderTransformers      1055      13      27
LarderUpstream          3532      25      57
all                   102292     918    1786
