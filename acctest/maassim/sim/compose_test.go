package sim_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestComposeRefused checks MAAS's and LXD's reasons to refuse a compose, and that nothing
// is left of it.
func TestComposeRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fields []string
		status int
		text   string
	}{
		"CoresBeyondHost":  {"The form's limit is the host, not the over-commit.", []string{"cores=9"}, 400, `{"cores":["Ensure this value is less than or equal to 8."]}`},
		"MemoryTooSmall":   {"MAAS wants at least 1024 MiB.", []string{"memory=512"}, 400, "greater than or equal to 1024."},
		"ZoneByName":       {"Compose takes ids where updates take names.", []string{"zone=default"}, 400, `"zone":["Select a valid choice.`},
		"DotInHostname":    {"A dot passes MAAS's form and fails in LXD.", []string{"hostname=a.b"}, 503, "Name can only contain alphanumeric and hyphen characters"},
		"DigitFirst":       {"MAAS takes the hostname, LXD does not.", []string{"hostname=1web"}, 503, "Invalid instance name: Name must not start with a number"},
		"PinnedTwice":      {"MAAS takes the core twice, LXD does not.", []string{"hostname=x", "pinned_cores=0", "pinned_cores=0"}, 503, "Cannot define CPU multiple times"},
		"Underscore":       {"The form looks at labels.", []string{"hostname=a_b"}, 400, "Host label cannot contain underscore: 'a_b'."},
		"HostMachinesName": {"The host's own machine has the VM host's name.", []string{"hostname=h1"}, 400, `Node with hostname \"h1\" already exists`},
		"OverCommit":       {"A VM that fits the host alone does not fit beside others.", []string{"cores=7"}, 503, "CPU overcommit ratio is 1.0 and there are 6 available resources; 7 requested."},
		"DiskTooBig":       {"MAAS has an internal error for a full pool.", []string{"storage=root:500(default)"}, 500, "Not enough storage space on storage pools: default"},
		"TakenInLXDOnly":   {"MAAS does not know the name, LXD does.", []string{"hostname=ghost"}, 503, `This "instances" entry already exists`},
		"UnknownSubnet":    {"The host has no bridge on it.", []string{"interfaces=eth0:subnet=99"}, 400, "This pod does not match the specified networks."},
		"IPOutside":        {"MAAS has an internal error for an address outside of all subnets.", []string{"interfaces=eth0:ip=192.0.2.1"}, 500, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := oneHost()
			m.Hosts[0].Instances = []string{"ghost"}
			c := newMAASClient(t, m)
			c.mustCall("POST", "vm-hosts/1/?op=compose", "hostname=first", "cores=2")
			wantStatus(t, c.call("POST", "vm-hosts/1/?op=compose", tc.fields...), tc.status, tc.text)
			if diff := cmp.Diff([]string{"ghost", "first"}, instanceNames(c.sim)); diff != "" {
				t.Errorf("%s\ninstances (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestComposeLeaks checks failures after LXD has made the VM: the call fails and the
// instance stays.
func TestComposeLeaks(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		images []string
		fields []string
		status int
		text   string
	}{
		"NoImages": {"Commissioning needs an image; MAAS looks when the VM is there.", []string{}, []string{"hostname=x"}, 400, "Ephemeral operating system ubuntu focal is unavailable."},
		"TakenIP":  {"An address is claimed in the commit.", nil, []string{"hostname=x", "interfaces=eth0:ip=10.77.0.30"}, 404, "The IP address 10.77.0.30 is already in use."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := oneHost()
			m.Images = tc.images
			c := newMAASClient(t, m)
			if tc.images == nil {
				c.compose("hostname=first", "skip_commissioning=true", "interfaces=eth0:ip=10.77.0.30")
			}
			wantStatus(t, c.call("POST", "vm-hosts/1/?op=compose", tc.fields...), tc.status, tc.text)
			if diff := cmp.Diff([]string{"x"}, leakedInstances(c.sim)); diff != "" {
				t.Errorf("%s\nleaks (-want +got):\n%s", tc.reason, diff)
			}
			wantStatus(t, c.call("POST", "vm-hosts/1/?op=compose", tc.fields...), 503, "already exists")
		})
	}
}

// TestComposeMarks follows the tags of the root disk. A compose adds them and
// commissioning removes them.
func TestComposeMarks(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	tags := func(id string, disk int) []any {
		return c.readMachine(id)["blockdevice_set"].([]any)[disk].(map[string]any)["tags"].([]any)
	}
	id := c.compose("storage=root:8(default,mark-1),data:5(fast)")
	if diff := cmp.Diff([]any{"default", "mark-1"}, tags(id, 0)); diff != "" {
		t.Errorf("tags of a newborn (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"ssd"}, tags(id, 0)); diff != "" {
		t.Errorf("tags after commissioning (-want +got):\n%s", diff)
	}
	skipped := c.compose("storage=root:8(mark-2)", "skip_commissioning=true")
	m := c.readMachine(skipped)
	if diff := cmp.Diff([]any{"mark-2"}, tags(skipped, 0)); diff != "" {
		t.Errorf("tags without commissioning (-want +got):\n%s", diff)
	}
	if m["status_name"] != "Ready" || m["commissioning_status"] != -1.0 || m["status_message"] != nil || m["owner"] != nil {
		t.Errorf("skip_commissioning: %v, commissioning_status %v, message %v, owner %v", m["status_name"], m["commissioning_status"], m["status_message"], m["owner"])
	}
}

// TestComposeTwice makes two composes of one name at a time.
func TestComposeTwice(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		second string // host of the second compose
		delay  time.Duration
		status int
		text   string
		leaks  []string
	}{
		"OneHostAtOnce":   {"LXD is busy creating it.", "1", 10 * time.Millisecond, 503, `Instance is busy running a "create" operation`, []string{}},
		"OneHostLater":    {"LXD has it, MAAS not yet.", "1", 600 * time.Millisecond, 503, `This "instances" entry already exists`, []string{}},
		"TwoHosts":        {"The first to commit wins; the loser's VM stays.", "2", 10 * time.Millisecond, 400, `Node with hostname \"x\" already exists`, []string{"x"}},
		"TwoHostsInOrder": {"MAAS's form sees the first.", "2", 2 * time.Second, 400, `Node with hostname \"x\" already exists`, []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := oneHost()
				m.Hosts = append(m.Hosts, sim.HostModel{Name: "h2", Cores: 8, MemoryMiB: 16384})
				m.Latency.Compose = time.Second
				c := newMAASClient(t, m)
				first := make(chan outcome, 1)
				go func() {
					first <- c.call("POST", "vm-hosts/1/?op=compose", "hostname=x", "skip_commissioning=true")
				}()
				time.Sleep(tc.delay)
				second := c.call("POST", "vm-hosts/"+tc.second+"/?op=compose", "hostname=x", "skip_commissioning=true")
				wantStatus(t, second, tc.status, tc.text)
				wantStatus(t, <-first, 200, "system_id")
				if diff := cmp.Diff(tc.leaks, leakedInstances(c.sim)); diff != "" {
					t.Errorf("%s\nleaks (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestComposeGoesOn: MAAS continues a compose after its client has gone, and gives up
// after 120 s. LXD's VM exists in both cases.
func TestComposeGoesOn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		compose time.Duration
		known   bool
	}{
		"WithinTheTimeout": {"The region goes on after its caller.", 20 * time.Second, true},
		"BeyondIt":         {"MAAS gave up at 120 s, LXD did not.", 600 * time.Second, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := oneHost()
				m.Latency.Compose = tc.compose
				c := newMAASClient(t, m)
				ctx, cancel := contextWithTimeout(t, time.Second)
				defer cancel()
				r := c.request("POST", "vm-hosts/1/?op=compose", formOf("hostname=x"))
				if out := c.send(r.WithContext(ctx)); out.err == nil {
					t.Fatalf("the client got %d", out.status)
				}
				time.Sleep(tc.compose + 10*time.Second)
				got := len(c.sim.Instances()) == 1 && len(leakedInstances(c.sim)) == 0
				if got != tc.known || len(c.sim.Instances()) != 1 {
					t.Errorf("%s instances: %+v", tc.reason, c.sim.Instances())
				}
				if calls := c.sim.Journal().Calls; len(calls) != 1 || !calls[0].Lost {
					t.Errorf("the journal does not show the lost call: %+v", calls)
				}
			})
		})
	}
}

// TestRefreshDuringCompose: the API's refresh wins the race against a compose.
func TestRefreshDuringCompose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := oneHost()
		m.Latency.Compose = 2 * time.Second
		m.Hosts[0].Zone, m.Zones = "az1", []string{"az1"}
		c := newMAASClient(t, m)
		composed := make(chan outcome, 1)
		go func() { composed <- c.call("POST", "vm-hosts/1/?op=compose", "hostname=newborn") }()
		time.Sleep(1500 * time.Millisecond) // LXD has made it, but MAAS has not saved it
		c.mustCall("POST", "vm-hosts/1/?op=refresh")
		wantStatus(t, <-composed, 400, `Node with hostname \"newborn\" already exists`)
		machines := c.sim.Machines()
		adopted := machines[len(machines)-1]
		if adopted.Hostname != "newborn" || adopted.Zone != "az1" || adopted.StatusName != "Commissioning" {
			t.Errorf("want it adopted and commissioned in the host's zone, got %+v", adopted)
		}
	})
}

// TestNewbornAndRefreshButton: the refresh of MAAS's UI removes a VM that was composed
// while it listed.
func TestNewbornAndRefreshButton(t *testing.T) {
	t.Parallel()
	for name, press := range map[string]func(*maasClient) error{
		"UI":  func(c *maasClient) error { return c.sim.RefreshHost("h1") },
		"API": func(c *maasClient) error { return c.call("POST", "vm-hosts/1/?op=refresh").err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := oneHost()
				m.Latency.Refresh, m.Latency.Compose = 5*time.Second, time.Second
				c := newMAASClient(t, m)
				refreshed := make(chan error, 1)
				go func() { refreshed <- press(c) }()
				time.Sleep(time.Second)
				id := c.compose("hostname=newborn")
				if err := <-refreshed; err != nil {
					t.Fatal(err)
				}
				kept := c.call("GET", "machines/"+id+"/").status == 200 && len(c.sim.Instances()) == 1
				if want := name == "API"; kept != want {
					t.Errorf("newborn kept: %v, want %v", kept, want)
				}
			})
		})
	}
}

// TestUsageOfAHost follows the host's numbers, which count only what MAAS knows.
func TestUsageOfAHost(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	c.compose("cores=2", "memory=4096", "storage=root:10(default),data:4(fast),more:1(nosuch)")
	h := c.mustCall("GET", "vm-hosts/1/")
	want := map[string]any{"cores": 6.0, "memory": 12288.0, "local_storage": 135e9}
	if diff := cmp.Diff(want, h["available"]); diff != "" {
		t.Errorf("available (-want +got):\n%s", diff)
	}
	var free []string
	for _, p := range h["storage_pools"].([]any) {
		free = append(free, strconv.FormatFloat(p.(map[string]any)["available"].(float64)/1e9, 'f', -1, 64))
	}
	if diff := cmp.Diff("89 46", strings.Join(free, " ")); diff != "" {
		t.Errorf("a tag that is no pool means the default pool (-want +got):\n%s", diff)
	}
}

// TestComposeNewTags composes in parallel on a VM host whose tag no machine has had yet.
// MAAS makes the tag in one of the transactions. It repeats the others after LXD has made
// their instances.
func TestComposeNewTags(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason       string
		known        []string // tags that MAAS has
		made, leaked int
	}{
		"Unknown": {"The first one makes the tag, and the others leave their instances.", nil, 1, 3},
		"Known":   {"An existing tag causes no race.", []string{"kvm"}, 4, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := oneHost()
				m.Hosts[0].Tags, m.Tags, m.Latency.Compose = []string{"kvm"}, tc.known, time.Second
				c := newMAASClient(t, m)
				statuses := make(chan int, 4)
				for n := range 4 {
					go func() {
						statuses <- c.call("POST", "vm-hosts/1/?op=compose", "hostname=w"+strconv.Itoa(n), "storage=root:8,data:5").status
					}()
				}
				made := 0
				for range 4 {
					if status := <-statuses; status == 200 {
						made++
					} else if status != 503 {
						t.Errorf("%s status %d", tc.reason, status)
					}
				}
				left := len(c.sim.Instances()) - made
				if made != tc.made || left != tc.leaked {
					t.Errorf("%s made %d, leaked %d; want %d and %d", tc.reason, made, left, tc.made, tc.leaked)
				}
				// Each repetition of a refused compose is refused and leaks one more
				// volume.
				if tc.leaked > 0 {
					volumes := len(c.sim.Volumes("h1"))
					for n := range 4 {
						c.call("POST", "vm-hosts/1/?op=compose", "hostname=w"+strconv.Itoa(n), "storage=root:8,data:5")
					}
					if got := len(c.sim.Volumes("h1")); got != volumes+tc.leaked {
						t.Errorf("%s volumes: %d, then %d", tc.reason, volumes, got)
					}
				}
			})
		})
	}
}
