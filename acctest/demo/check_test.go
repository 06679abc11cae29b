package main

import (
	"strings"
	"testing"
)

func TestCheckFleet(t *testing.T) {
	t.Parallel()
	some := amount{Used: 4, Total: 16}
	on := func(zone string, vms ...string) host { return host{Zone: zone, Cores: some, MemoryMiB: some, VMs: vms} }
	full := on("az1", "vm-1")
	full.Cores = amount{Used: 17, Total: 16}
	idle := on("az1", "vm-1")
	idle.MemoryMiB.Used = 0
	cases := map[string]struct {
		reason string
		fleet  map[string]host
		err    string
	}{
		"Spread": {
			reason: "Three VMs in each zone, however they lie on its hosts.",
			fleet:  map[string]host{"a": on("az1", "vm-1"), "b": on("az1", "vm-2", "vm-3"), "c": on("az2", "vm-4", "vm-5", "vm-6")},
		},
		"Uneven": {
			reason: "Zones get the same number of VMs.",
			fleet:  map[string]host{"a": on("az1", "vm-1", "vm-2"), "b": on("az1", "vm-3", "vm-4"), "c": on("az2", "vm-5", "vm-6")},
			err:    "VMs, want 3 in each",
		},
		"Twice": {
			reason: "A VM is on one host.",
			fleet:  map[string]host{"a": on("az1", "vm-1"), "b": on("az1", "vm-1"), "c": on("az2", "vm-4")},
			err:    "vm-1 is on",
		},
		"Missing": {
			reason: "A VM that is on no host of the fleet is not shown at all.",
			fleet:  map[string]host{"a": on("az1", "vm-1"), "b": on("az1", "vm-2"), "c": on("az2", "vm-4", "vm-5", "vm-6")},
			err:    "3 hosts in 2 zones with 5 VMs",
		},
		"OneZone": {
			reason: "A host that came up in the wrong zone.",
			fleet:  map[string]host{"a": on("az1", "vm-1", "vm-2"), "b": on("az1", "vm-3", "vm-4"), "c": on("az1", "vm-5", "vm-6")},
			err:    "in 1 zones",
		},
		"Full":  {"No host has more than there is.", map[string]host{"a": full}, "17 of 16 cores"},
		"Idle":  {"VMs take memory, or the inventory is not read.", map[string]host{"a": idle}, "0 of 16 MiB"},
		"Empty": {"An apply that made nothing is no success.", nil, "0 hosts"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, tc.reason, checkFleet(tc.fleet), tc.err)
		})
	}
}

func TestCheckAddresses(t *testing.T) {
	t.Parallel()
	ip := []string{"127.77.0.9"}
	all := map[string][]string{"1": ip, "2": ip, "3": ip, "4": ip, "5": ip, "6": ip}
	wantError(t, "Six VMs with an address.", checkAddresses(all), "")
	wantError(t, "A deployed VM has an address.", checkAddresses(map[string][]string{"vm-1": nil}), "vm-1 has no address")
	wantError(t, "All of the VMs tell theirs.", checkAddresses(map[string][]string{"vm-1": ip}), "1 VMs tell")
}

func TestCheckInPlace(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		plan   string
		err    string
	}{
		"Update": {
			reason: "Others stay as they are, and data may be read again.",
			plan: `{"resource_changes":[{"address":"a","mode":"managed","change":{"actions":["update"]}},
				{"address":"b","mode":"managed","change":{"actions":["no-op"]}},{"address":"c","mode":"data","change":{"actions":["read"]}}]}`,
		},
		"Replacement": {
			reason: "A replacement is a delete and a create.",
			plan:   `{"resource_changes":[{"address":"a","mode":"managed","change":{"actions":["delete","create"]}}]}`,
			err:    `does ["delete" "create"] to a`,
		},
		"Other": {
			reason: "A change that reaches another resource is not what was asked for.",
			plan:   `{"resource_changes":[{"address":"b","mode":"managed","change":{"actions":["update"]}}]}`,
			err:    `does ["update"] to b`,
		},
		"Nothing": {
			reason: "What was asked for must be in the plan.",
			plan:   `{"resource_changes":[{"address":"a","mode":"managed","change":{"actions":["no-op"]}}]}`,
			err:    "does not update a",
		},
		"NoPlan": {
			reason: "What is no plan proves nothing.",
			plan:   `Error`,
			err:    "cannot read the plan",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, tc.reason, checkInPlace([]byte(tc.plan), "a"), tc.err)
		})
	}
}

func TestCheckKept(t *testing.T) {
	t.Parallel()
	var before []instance
	for _, name := range []string{"vm-1", "vm-2", "vm-3", "vm-4", "vm-5", "vm-6"} {
		before = append(before, instance{Host: "node1", Name: name, MachineID: "id-" + name, Running: true})
	}
	with := func(change func(*instance)) []instance {
		after := append([]instance{}, before...)
		change(&after[3])
		return after
	}
	cases := map[string]struct {
		reason string
		after  []instance
		err    string
	}{
		"Kept":     {"The same VMs on the same hosts.", before, ""},
		"Replaced": {"Another system id is another VM.", with(func(i *instance) { i.MachineID = "xyz789" }), "vm-4 on node1 is not the VM"},
		"Moved":    {"A VM stays on its host.", with(func(i *instance) { i.Host = "node2" }), "vm-4 on node2 is not the VM"},
		"Off":      {"A change in place turns nothing off.", with(func(i *instance) { i.Running = false }), "vm-4 on node1 is not the VM"},
		"Gone":     {"A VM must not vanish.", before[:5], "have 5 VMs, want 6"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, tc.reason, checkKept(before, tc.after), tc.err)
		})
	}
	unknown := with(func(i *instance) { i.MachineID = "" })
	wantError(t, "A leak is a VM that MAAS does not know.", checkRunning(unknown), "vm-4 on node1 is off, or not known")
}

func TestCheckBare(t *testing.T) {
	t.Parallel()
	with := func(change func(*machine)) []machine {
		machines := []machine{{Name: "node1", Status: "Ready"}, {Name: "node2", Status: "Ready"}, {Name: "node3", Status: "Ready"}}
		change(&machines[1])
		return machines
	}
	cases := map[string]struct {
		reason   string
		machines []machine
		err      string
	}{
		"Bare":     {"Ready, and nobody's.", with(func(*machine) {}), ""},
		"Strange":  {"A mark of somebody else's is not ours to judge.", with(func(m *machine) { m.OwnerData = map[string]string{"rack": "7"} }), ""},
		"VM":       {"A VM that MAAS still has.", with(func(m *machine) { m.VMHost = "kvm-1" }), "a VM on kvm-1"},
		"VMHost":   {"A VM host that MAAS still has.", with(func(m *machine) { m.Hosted = "kvm-2" }), "the VM host kvm-2"},
		"Deployed": {"A machine that was not released.", with(func(m *machine) { m.Status = "Deployed" }), "node2 is Deployed"},
		"Owned":    {"A machine that was not given back.", with(func(m *machine) { m.Owner = "admin" }), `of "admin"`},
		"Marked":   {"A mark would make the next run take it for its own.", with(func(m *machine) { m.OwnerData = map[string]string{"maaslxd-key": "x"} }), "mark maaslxd-key"},
		"Missing":  {"No machine may be lost.", with(func(*machine) {})[:2], "knows 2 machines, want 3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, tc.reason, checkBare(tc.machines), tc.err)
		})
	}
}

// wantError wants an error with the text in it, or none where the text is
// empty.
func wantError(t *testing.T, reason string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s\nerror is %v, want %q", reason, err, want)
	}
}
