package realmaas

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// WhyNotRefresh says why a refresh of a VM host may do harm. It is empty where
// a refresh does none.
//
// MAAS compares the instances in the host's project with its own machines, by
// their MACs (models/bmc.py, sync_machines). It adopts an instance that it does
// not know, and power-cycles it. It forgets a machine whose instance is
// missing.
func (c *Client) WhyNotRefresh(ctx context.Context, vmHost int, lxds []LXD) (string, error) {
	var at struct {
		Address string `json:"power_address"`
		Project string `json:"project"`
	}
	if err := c.GetJSON(ctx, fmt.Sprintf("vm-hosts/%d/?op=parameters", vmHost), &at); err != nil {
		return "", err
	}
	n := slices.IndexFunc(lxds, func(l LXD) bool { return hostPort(l.Address) == hostPort(at.Address) })
	if n < 0 {
		return fmt.Sprintf("%s does not name the LXD at %s, so its instances are unknown", LXDVariable, at.Address), nil
	}
	instances, err := lxds[n].Instances(ctx)
	if err != nil {
		return "", err
	}
	machines, err := c.Machines(ctx)
	if err != nil {
		return "", err
	}
	isThere := func(m Machine, i Instance) bool {
		return slices.ContainsFunc(m.Interfaces, func(nic Interface) bool { return slices.Contains(i.MACs, strings.ToLower(nic.MAC)) })
	}
	instances = slices.DeleteFunc(instances, func(i Instance) bool { return i.Project != at.Project })
	machines = slices.DeleteFunc(machines, func(m Machine) bool { return m.VMHost == nil || m.VMHost.ID != vmHost })
	for _, i := range instances {
		if !slices.ContainsFunc(machines, func(m Machine) bool { return isThere(m, i) }) {
			return fmt.Sprintf("MAAS does not know the instance %s of project %s, and would adopt it", i.Name, i.Project), nil
		}
	}
	for _, m := range machines {
		if !slices.ContainsFunc(instances, func(i Instance) bool { return isThere(m, i) }) {
			return fmt.Sprintf("the machine %s has no instance, and MAAS would forget it", m.Hostname), nil
		}
	}
	return "", nil
}

// hostPort is the host and port of an LXD's address. MAAS writes it with a
// scheme or without.
func hostPort(address string) string {
	address = strings.TrimSuffix(strings.TrimPrefix(address, "https://"), "/")
	if !strings.Contains(address[strings.LastIndex(address, "]")+1:], ":") {
		address += ":8443"
	}
	return address
}
