package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckInPlace(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		plan   string
		want   int
		err    string
	}{
		"Updates": {
			reason: "Only updates are in place.",
			plan:   `{"resource_changes":[{"address":"a","change":{"actions":["update"]}},{"address":"b","change":{"actions":["update"]}}]}`,
			want:   2,
		},
		"Replacement": {
			reason: "A replacement is a delete and a create.",
			plan:   `{"resource_changes":[{"address":"a","change":{"actions":["delete","create"]}}]}`,
			want:   1,
			err:    `does ["delete" "create"] to a`,
		},
		"TooFew": {
			reason: "A change that reaches only some VMs is not what was asked for.",
			plan:   `{"resource_changes":[{"address":"a","change":{"actions":["update"]}}]}`,
			want:   2,
			err:    "updates 1 VMs, want 2",
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
			wantError(t, tc.reason, checkInPlace([]byte(tc.plan), tc.want), tc.err)
		})
	}
}

func TestCheckKept(t *testing.T) {
	t.Parallel()
	good := vm{SystemID: "abc123", Status: "Deployed", IPAddresses: []string{"10.0.0.5"}, Tags: []string{"changed"}}
	with := func(change func(*vm)) vm {
		v := good
		change(&v)
		return v
	}
	cases := map[string]struct {
		reason string
		after  map[string]vm
		err    string
	}{
		"Kept":     {"The same VM with the new tag.", map[string]vm{"a": good}, ""},
		"Replaced": {"Another system id is another VM.", map[string]vm{"a": with(func(v *vm) { v.SystemID = "xyz789" })}, "want it untouched"},
		"Gone":     {"A VM must not vanish.", map[string]vm{}, "want it untouched"},
		"Untagged": {"The change must have arrived.", map[string]vm{"a": with(func(v *vm) { v.Tags = nil })}, "tags"},
		"Released": {"A change in place does not release.", map[string]vm{"a": with(func(v *vm) { v.Status = "Ready" })}, "want it untouched"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, tc.reason, checkKept(map[string]vm{"a": good}, tc.after), tc.err)
		})
	}
}

func TestCheckDeployed(t *testing.T) {
	t.Parallel()
	wantError(t, "An apply that made nothing is no success.", checkDeployed(nil), "made no VM")
	wantError(t, "A deployed VM has an address.",
		checkDeployed(map[string]vm{"a": {SystemID: "abc123", Status: "Deployed"}}), "want it Deployed, with both")
}

func TestReadExports(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		line   string
		root   string
		err    string
	}{
		"Plain":  {"As maassim prints it.", "export MAAS_API_URL=http://127.0.0.1:4711/MAAS MAAS_API_KEY=a:b:c", "http://127.0.0.1:4711", ""},
		"Quoted": {"Quotes are the shell's.", `export MAAS_API_URL="http://127.0.0.1:4711/MAAS" MAAS_API_KEY='a:b:c'`, "http://127.0.0.1:4711", ""},
		"NoKey":  {"Without a key nothing can be done.", "export MAAS_API_URL=http://127.0.0.1:4711/MAAS", "", "lacks"},
		"Other":  {"Some other output.", "listening", "", "want export"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exports, root, err := readExports(tc.line)
			wantError(t, tc.reason, err, tc.err)
			if root != tc.root {
				t.Errorf("%s\nroot is %q, want %q", tc.reason, root, tc.root)
			}
			want := []string{"MAAS_API_URL=http://127.0.0.1:4711/MAAS", "MAAS_API_KEY=a:b:c"}
			if diff := cmp.Diff(want, exports); tc.err == "" && diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPrintVMs(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	printVMs(&got, map[string]vm{
		"web-1": {SystemID: "abc123", Host: "lxd-a", Zone: "az1", Cores: 2, MemoryMiB: 4096, DisksGB: map[string]int64{"root": 20},
			IPAddresses: []string{"10.0.0.5"}, Status: "Deployed", Tags: []string{"demo"}},
		"db-1": {SystemID: "xyz789", Host: "lxd-b", Zone: "az2", Cores: 4, MemoryMiB: 8192, DisksGB: map[string]int64{"root": 20, "data": 100},
			IPAddresses: []string{"10.0.0.6"}, Status: "Deployed", Tags: []string{"demo"}},
	})
	want := `NAME   SYSTEM ID  HOST   ZONE  CORES  MEMORY    DISKS                    IP        STATUS    TAGS
db-1   xyz789     lxd-b  az2   4      8192 MiB  data 100 GB, root 20 GB  10.0.0.6  Deployed  demo
web-1  abc123     lxd-a  az1   2      4096 MiB  root 20 GB               10.0.0.5  Deployed  demo
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// wantError wants an error with the text in it, or none where it is empty.
func wantError(t *testing.T, reason string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s\nerror is %v, want %q", reason, err, want)
	}
}
