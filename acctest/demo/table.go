package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// mibPerGiB converts memory, which is shown in GiB.
const mibPerGiB = 1024

// printFleet writes the hosts as a table, sorted by name.
func printFleet(out io.Writer, fleet map[string]host) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tZONE\tCORES\tMEMORY\tVMS")
	for _, name := range slices.Sorted(maps.Keys(fleet)) {
		h := fleet[name]
		fmt.Fprintf(table, "%s\t%s\t%d of %d\t%d of %d GiB\t%s\n", name, h.Zone, h.Cores.Used, h.Cores.Total,
			h.MemoryMiB.Used/mibPerGiB, h.MemoryMiB.Total/mibPerGiB, strings.Join(h.VMs, " "))
	}
	table.Flush()
}

// printMachines writes MAAS's machines as a table.
func printMachines(out io.Writer, machines []machine) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MACHINE\tZONE\tCORES\tMEMORY\tSTATUS\tOWNER")
	for _, m := range machines {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d GiB\t%s\t%s\n", m.Name, m.Zone, m.Cores, m.MemoryMiB/mibPerGiB, m.Status, cmp.Or(m.Owner, "-"))
	}
	table.Flush()
}
