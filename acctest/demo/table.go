package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// printVMs writes the VMs as a table, by name.
func printVMs(out io.Writer, vms map[string]vm) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSYSTEM ID\tHOST\tZONE\tCORES\tMEMORY\tDISKS\tIP\tSTATUS\tTAGS")
	for _, name := range slices.Sorted(maps.Keys(vms)) {
		v := vms[name]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d MiB\t%s\t%s\t%s\t%s\n", name, v.SystemID, v.Host, v.Zone,
			v.Cores, v.MemoryMiB, disks(v.DisksGB), strings.Join(v.IPAddresses, ","), v.Status, strings.Join(v.Tags, ","))
	}
	table.Flush()
}

// disks is "data 100 GB, root 20 GB".
func disks(sizesGB map[string]int64) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(sizesGB)) {
		words = append(words, fmt.Sprintf("%s %d GB", name, sizesGB[name]))
	}
	return strings.Join(words, ", ")
}
