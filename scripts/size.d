# SPDX-License-Identifier: Apache-2.0
#
# Budgets: target, lines, files, types. `scripts/size` compares; it says how a budget changes.
Larder                 14565     133     330
LarderAdmin             9059      69     101
LarderCLI               9555      92     182
LarderCodings            565       7      22
LarderDaemon              67       2       2
LarderDashboard           35       1       1
LarderHTTP              4746      55      69
LarderIO                6697      72     118
LarderProgram              9       1       1
LarderProxy            25203     207     390
LarderRules             6074      60     133
LarderSettings          8185      79     130
LarderShared            3093      24      61
LarderSharing            969       7      15
LarderStores            8417      67     129
LarderTesting            389       4      17
LarderTransformers      1055      13      27
LarderUpstream          3609      25      58
all                   102292     918    1786
