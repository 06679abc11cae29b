package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// plainText writes a grid with columns of one width each.
func plainText(out io.Writer, g grid) {
	fmt.Fprintf(out, "\n%s\n", strings.ToUpper(g.title))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(g.head, "\t"))
	for _, row := range g.rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	table.Flush()
}

// markdown writes a grid as Markdown; routes, which have braces, as code.
func markdown(out io.Writer, g grid) {
	fmt.Fprintf(out, "\n**%s**\n\n", g.title)
	line := func(cells []string) { fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")) }
	line(g.head)
	line(strings.Split(strings.Repeat("---,", len(g.head)-1)+"---", ","))
	for _, row := range g.rows {
		cells := append([]string{}, row...)
		if strings.Contains(cells[0], "/") {
			cells[0] = "`" + cells[0] + "`"
		}
		line(cells)
	}
}
