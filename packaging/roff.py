# SPDX-License-Identifier: Apache-2.0
"""Manual pages in the macros of man(7), from the Markdown that this project writes."""

import re

_SPECIAL = {"…": "...", "‘": "\\(oq", "’": "\\(cq", "“": "\\(lq", "”": "\\(rq", "–": "\\(en",
            "→": "\\(->", "×": "\\(mu", "µ": "\\(mc", "≥": "\\(>=", "≤": "\\(<="}


def escape(text):
    """Text as it is to be read; a line of it may begin with anything."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
    text = text.replace("`", "\\(ga").replace("'", "\\(aq")
    for character, name in _SPECIAL.items():
        text = text.replace(character, name)
    return "\\&" + text if text.startswith(".") else text


_SPAN = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\([^)]*\)|(?<![\w*/])\*([^*\s][^*]*)\*(?![\w*])")


def inline(text):
    """A paragraph's text: code and names bold, emphasis italic, links by their text."""
    parts, end = [], 0
    for span in _SPAN.finditer(text):
        parts.append(escape(text[end:span.start()]))
        code, strong, link, emphasis = span.groups()
        if code is not None:
            parts.append(bold(code))
        elif strong is not None:
            parts.append(f"\\fB{inline(strong)}\\fP" if "`" not in strong else inline(strong))
        elif link is not None:
            parts.append(inline(link))
        else:
            parts.append(f"\\fI{escape(emphasis)}\\fP")
        end = span.end()
    parts.append(escape(text[end:]))
    text = "".join(parts)
    return "\\&" + text if text.startswith(".") else text


def bold(text):
    return f"\\fB{escape(text).removeprefix(chr(92) + '&')}\\fP"


def italic(text):
    return f"\\fI{escape(text).removeprefix(chr(92) + '&')}\\fP"


def title(name, section, date, version):
    return [f'.TH "{escape(name.upper())}" "{section}" "{date}" "Larder {version}" "Larder"']


def section(name):
    return [f'.SH "{escape(name.upper())}"']


def subsection(name):
    return [f'.SS "{escape(name)}"']


def verbatim(lines):
    shown = [escape(line) or "\\&" for line in lines]
    return [".PP", ".RS 4", ".nf", *shown, ".fi", ".RE"]


def item(term, *paragraphs):
    """A term and what it means; at least one paragraph."""
    lines = [".TP", term, paragraphs[0]]
    for paragraph in paragraphs[1:]:
        lines += [".IP", paragraph]
    return lines


def tidy(lines):
    """Without paragraphs where a heading begins one already."""
    return [line for index, line in enumerate(lines)
            if not (line == ".PP" and index and lines[index - 1].startswith((".SH", ".SS")))]


_COMMAND = re.compile(r"larder \S|\S+ .*\| larder \S")


def prose(text):
    """Paragraphs of a help text: those that are laid out in columns, indented or commands stay as they are."""
    lines = []
    if not text.strip():
        return lines
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        rows = paragraph.split("\n")
        if any(re.search(r"^ {2,}|\S {2,}\S", row) for row in rows) or all(_COMMAND.match(row) for row in rows):
            lines += verbatim(rows)
        else:
            lines += [".PP", inline(" ".join(row.strip() for row in rows))]
    return lines


def markdown(text):
    """The body of a page; its first heading is left to the caller."""
    lines, rows = [], text.split("\n")
    index = 0

    def paragraph(start):
        """The lines that go on until a blank one or another kind of block."""
        end = start + 1
        while end < len(rows) and rows[end].strip() and not re.match(r"(#|```|\||- |\d+\. )", rows[end]):
            end += 1
        return " ".join(row.strip() for row in rows[start:end]), end

    while index < len(rows):
        row = rows[index]
        if not row.strip() or row.startswith("# ") or row.startswith("<!--"):
            index += 1
        elif row.startswith("## "):
            lines += section(row[3:].replace("`", ""))
            index += 1
        elif row.startswith("#"):
            lines += subsection(row.lstrip("# ").replace("`", ""))
            index += 1
        elif row.startswith("```"):
            end = next(i for i in range(index + 1, len(rows)) if rows[i].startswith("```"))
            lines += verbatim(rows[index + 1:end])
            index = end + 1
        elif row.startswith("|"):
            end = index
            while end < len(rows) and rows[end].startswith("|"):
                end += 1
            lines += table(rows[index:end])
            index = end
        elif re.match(r"(- |\d+\. )", row):
            mark, _, _ = row.partition(" ")
            text, index = paragraph(index)
            lines += [".IP " + ("\\(bu 2" if mark == "-" else f"{mark} 4"), inline(text[len(mark) + 1:])]
        else:
            text, index = paragraph(index)
            lines += [".PP", inline(text)]
    return lines


def table(rows):
    """Each row as a term, the last column as its meaning, the columns between named."""
    cells = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    names, lines = cells[0], []
    for row in cells[2:]:
        between = "; ".join(f"{name}: {cell}" for name, cell in zip(names[1:-1], row[1:-1]))
        lines += item(inline(row[0]) or "\\&", inline(row[-1]) or "\\&",
                      *([inline(between[0].upper() + between[1:] + ".")] if between else []))
    return lines
