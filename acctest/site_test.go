package acctest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/realmaas"
	"github.com/maaslxd/maaslxd/engine"
)

// runPrefix begins the names of everything that this run of the suite makes on
// a real MAAS.
var runPrefix = sync.OnceValue(func() string { return fmt.Sprintf("tf-acc-%04x-", rand.Uint32()&0xffff) })

// site is the real MAAS that the environment names, and the parts that the
// suite may use.
type site struct {
	realmaas.Settings
	client        *realmaas.Client
	pilot         *realmaas.Pilot
	existingNames map[string]string // names for the simulated model's words
	lent          []realmaas.Machine
	lentIDs       []string // system ids of all lent machines, which no sweep removes
	makesVMsInLXD bool     // the provider makes VMs in LXD

	lendOnce     sync.Once
	idleMachines chan []realmaas.Machine // machines that no test uses
	borrowed     sync.Map                // machines by the test that uses them

	standIns        sync.Map      // lent machines that a story uses: the hostnames, and the story's words for them
	inventoryBefore []string      // the inventory before the run
	unusableReason  string        // why no story can run; empty: stories can run
	storySlots      chan struct{} // one for each running story
	soloMutex       sync.Mutex    // held by a story that runs alone
	undo            undoStack     // what the run has done, and must undo
	storyStop       storyStop

	addresses     sync.Map     // used addresses, with the tests' word for each
	freeAddresses []netip.Addr // addresses of the network that MAAS has given to nobody
	mu            sync.Mutex   // guards freeAddresses
}

// theSite is prepared once for all tests. On the simulator it is nil.
var theSite *site

// isOnSite reports whether the suite runs on a MAAS that it did not make.
func isOnSite() bool { return theSite != nil }

// openSite prepares the MAAS that the environment names, if it names one. Where
// it fails or is interrupted, it undoes its changes.
func openSite() error {
	settings, err := realmaas.ReadSettings(os.Getenv)
	if settings == nil || err != nil {
		return err
	}
	if settings.VMHost == "" || settings.Image == "" {
		return fmt.Errorf("on a real MAAS also set %s and %s", realmaas.VMHostVariable, realmaas.ImageVariable)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endingSignals...)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the reader of the output may end first
	ctx, stop := signal.NotifyContext(context.Background(), endingSignals...)
	defer stop()
	s := newSite(*settings, isLXDColumn())
	if err := s.open(ctx); err != nil {
		return errors.Join(err, s.undo.run())
	}
	theSite = s
	go s.watchForEnd(signals, time.After(s.Deadline), os.Exit)
	return nil
}

// newSite is a MAAS that was not read yet.
func newSite(settings realmaas.Settings, inLXD bool) *site {
	return &site{Settings: settings, makesVMsInLXD: inLXD, storySlots: make(chan struct{}, max(settings.Parallel, 1)), storyStop: storyStop{begun: make(chan struct{})}}
}

// open reads and prepares a MAAS. It puts each change on the stack of changes
// to undo, also where it fails.
func (s *site) open(ctx context.Context) (err error) {
	if s.client, err = s.Open(ctx); err != nil {
		return err
	}
	if s.inventoryBefore, err = s.inventory(ctx); err != nil {
		return err
	}
	driving, end := context.WithCancel(context.Background())
	s.undo.push("end the pilot", func(context.Context) error { end(); return nil })
	s.undo.push("compare MAAS with its state before the run", s.compareInventory)
	s.undo.push("remove the run's leftovers", func(ctx context.Context) error {
		removed, err := s.sweep(ctx, runPrefix())
		for _, what := range removed {
			fmt.Println("removed after the run: " + what)
		}
		return err
	})
	if err := s.prepare(ctx); err != nil {
		return err
	}
	s.undo.push("give back the lent machines", func(ctx context.Context) error { return s.releaseMachines(ctx, s.lent) })
	if s.Drive.HasCommand() {
		s.pilot = realmaas.NewPilot(s.client, s.Drive, s.isOurs, s.isLent, min(s.Interval/2, time.Second), func(text string) { fmt.Println("drive: " + text) })
		go s.pilot.Run(driving)
	}
	return nil
}

// isOurs reports whether the suite may drive a machine.
func (s *site) isOurs(m realmaas.Machine) bool {
	return m.BelongsTo(runPrefix()) || s.isLent(m)
}

// isLent reports whether a machine is lent to the suite.
func (s *site) isLent(m realmaas.Machine) bool {
	return slices.ContainsFunc(s.lent, func(l realmaas.Machine) bool { return l.SystemID == m.SystemID })
}

// prepare finds the existing objects, and makes the zone and the pool that the
// environment does not name.
func (s *site) prepare(ctx context.Context) error {
	machines, err := s.client.Machines(ctx)
	if err != nil {
		return err
	}
	for _, name := range s.Machines {
		m, err := realmaas.FindMachine(machines, name)
		if err != nil {
			return fmt.Errorf("%s: %w", realmaas.MachinesVariable, err)
		}
		if m.StatusName != "Ready" || m.Owner != "" {
			return fmt.Errorf("%s: machine %s is %s and owned by %q; it must be Ready and without an owner", realmaas.MachinesVariable, name, m.StatusName, m.Owner)
		}
		s.lent, s.lentIDs = append(s.lent, m), append(s.lentIDs, m.SystemID)
	}
	host, err := s.findHost(ctx, s.VMHost, machines)
	if s.makesVMsInLXD && errors.Is(err, errNoLXDHost) {
		host, err = s.lendHost(ctx)
	}
	if err != nil {
		return err
	}
	second, err := s.findHost(ctx, s.VMHost2, machines)
	if s.makesVMsInLXD && errors.Is(err, errNoLXDHost) {
		s.VMHost2, err = "", nil // tests that need two hosts are skipped
	}
	if err != nil {
		return err
	}
	s.Zone = cmp.Or(s.Zone, second.zone)
	for _, made := range []struct {
		name *string
		path string
	}{{&s.Zone, "zones/"}, {&s.Pool, "resourcepools/"}} {
		if *made.name != "" {
			continue
		}
		*made.name = runPrefix() + "other"
		if _, err := s.client.Send(ctx, http.MethodPost, made.path, url.Values{"name": {*made.name}}); err != nil {
			return err
		}
	}
	s.existingNames = map[string]string{
		"lxd1": s.VMHost, "lxd2": s.VMHost2, "az1": host.zone, "az2": s.Zone, "kvm": s.Pool, "default": "default", "maas": host.domain,
		"ubuntu/noble": s.Image, "virtual": "virtual", "rack1": host.tag, "node1": "", "node2": "", "small": "", "stray": "", "metal": "",
		"fast": host.otherPool, "pod-console-logging": "pod-console-logging",
	}
	if s.Image != "ubuntu/noble" {
		s.existingNames["ga-24.04"], s.existingNames["hwe-24.04"] = "", "" // kernels of the simulated image only
	}
	return s.findImagesAndNetworks(ctx)
}

// errNoLXDHost says that MAAS has no LXD host of the provider with that name.
var errNoLXDHost = errors.New("no machine has the mark of an LXD host")

// lendHost makes the last lent machine an LXD host for the run. It deploys the
// machine and marks the first LXD as its own. So the provider makes VMs in that
// LXD.
func (s *site) lendHost(ctx context.Context) (siteHost, error) {
	if len(s.LXDs) == 0 || len(s.lent) == 0 {
		s.unusableReason = fmt.Sprintf("no LXD host of the provider has the name %s; to make one, name an LXD with %s and a machine with %s",
			s.VMHost, realmaas.LXDVariable, realmaas.MachinesVariable)
		return siteHost{}, nil
	}
	m := s.lent[len(s.lent)-1]
	s.lent = s.lent[:len(s.lent)-1]
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	bridge, err := s.LXDs[0].Bridge(ctx)
	if err != nil {
		return siteHost{}, err
	}
	s.undo.push("give back "+m.Hostname+", which was an LXD host for the run", func(ctx context.Context) error {
		return s.releaseMachines(ctx, []realmaas.Machine{m})
	})
	if err := s.client.AddBridge(ctx, m.SystemID, bridge); err != nil {
		return siteHost{}, fmt.Errorf("cannot put the bridge %s of the LXD on machine %s: %w", bridge, m.Hostname, err)
	}
	if err := s.deployMachine(ctx, m.SystemID); err != nil {
		return siteHost{}, fmt.Errorf("cannot deploy %s as an LXD host: %w", m.Hostname, err)
	}
	s.VMHost = runPrefix() + "host"
	zone := m.Zone.Name
	if zone == s.Zone {
		zone = "default" // the host must be in another zone
	}
	record := engine.HostRecord{
		Name: s.VMHost, Zone: zone, Pool: m.Pool.Name,
		Endpoint: engine.Endpoint{Address: strings.TrimPrefix(s.LXDs[0].Address, "https://"), Project: s.Project},
	}
	form := url.Values{}
	for key, value := range record.OwnerData() {
		if value != "" {
			form.Set(key, value)
		}
	}
	if err := s.client.Operate(ctx, m.SystemID, "set_owner_data", form); err != nil {
		return siteHost{}, err
	}
	if err := s.client.SetTags(ctx, m, append(slices.Clone(m.Tags), engine.HostTag)); err != nil {
		return siteHost{}, err
	}
	pool, err := s.otherPool(ctx, "")
	return siteHost{zone: zone, domain: m.Domain.Name, otherPool: pool}, err
}

// deployMachine deploys a machine, and waits until it is Deployed.
func (s *site) deployMachine(ctx context.Context, systemID string) error {
	if _, err := s.client.Send(ctx, http.MethodPost, "machines/?op=allocate", url.Values{"system_id": {systemID}}); err != nil {
		return err
	}
	if err := s.client.Operate(ctx, systemID, "deploy", url.Values{"distro_series": {s.Image}}); err != nil {
		return err
	}
	if s.Drive.HasCommand() {
		if _, err := s.Drive.Run(ctx, realmaas.VerbDeployed, systemID); err != nil {
			return err
		}
	}
	for {
		m, err := s.client.Machine(ctx, systemID)
		if err != nil || m.StatusName == "Deployed" {
			return err
		}
		if strings.HasPrefix(m.StatusName, "Failed") {
			return fmt.Errorf("it is %s: %s", m.StatusName, m.StatusMessage)
		}
		if err := realmaas.WaitFor(ctx, min(s.Interval, 2*time.Second)); err != nil {
			return err
		}
	}
}

// siteHost is what the suite knows of a host for VMs.
type siteHost struct{ zone, tag, domain, otherPool string }

// findHost finds a VM host by its name. Where MAAS has no VM hosts, it finds
// the machine with the mark of that host. An empty name finds none.
func (s *site) findHost(ctx context.Context, name string, machines []realmaas.Machine) (siteHost, error) {
	if name == "" {
		return siteHost{}, nil
	}
	domain := "maas"
	if s.makesVMsInLXD {
		for _, m := range machines {
			if m.OwnerData["maaslxd-name"] == name || m.Hostname == name && m.OwnerData["maaslxd-address"] != "" {
				pool, err := s.otherPool(ctx, m.OwnerData["maaslxd-storage-pool"])
				return siteHost{otherPool: pool, zone: cmp.Or(m.OwnerData["maaslxd-zone"], m.Zone.Name), tag: firstTag(strings.Split(m.OwnerData["maaslxd-tags"], ",")), domain: m.Domain.Name}, err
			}
		}
		return siteHost{}, fmt.Errorf("%w %s", errNoLXDHost, name)
	}
	hosts, err := s.client.VMHosts(ctx)
	if err != nil {
		return siteHost{}, err
	}
	for _, h := range hosts {
		if h.Name != name {
			continue
		}
		found := siteHost{zone: h.Zone.Name, tag: firstTag(h.Tags), domain: domain}
		for _, p := range h.StoragePools {
			if !p.Default {
				found.otherPool = p.Name
			}
		}
		return found, nil
	}
	return siteHost{}, fmt.Errorf("%s: MAAS has no VM host %s", realmaas.VMHostVariable, name)
}

// otherPool is a storage pool of the first LXD, other than the given one and
// the first. It is empty where there is none.
func (s *site) otherPool(ctx context.Context, pool string) (string, error) {
	if len(s.LXDs) == 0 {
		return "", nil
	}
	names, err := s.LXDs[0].StoragePools(ctx)
	for _, name := range names {
		if name != cmp.Or(pool, "default") {
			return name, err
		}
	}
	return "", err
}

// firstTag is the first tag that is not one of MAAS's own.
func firstTag(tags []string) string {
	for _, tag := range tags {
		if tag != "" && tag != "pod-console-logging" && tag != "virtual" {
			return tag
		}
	}
	return ""
}

// findImagesAndNetworks finds a second image, and the networks.
func (s *site) findImagesAndNetworks(ctx context.Context) error {
	var images []struct{ Name string }
	if err := s.client.GetJSON(ctx, "boot-resources/", &images); err != nil {
		return err
	}
	s.existingNames["ubuntu/jammy"] = ""
	for _, i := range images {
		if i.Name != s.Image && strings.HasPrefix(i.Name, "ubuntu/") {
			s.existingNames["ubuntu/jammy"] = i.Name
		}
	}
	var domains []struct {
		Name    string
		Default bool `json:"is_default"`
	}
	if err := s.client.GetJSON(ctx, "domains/", &domains); err != nil {
		return err
	}
	s.existingNames["example.org"] = ""
	for _, d := range domains {
		if d.Default {
			s.existingNames["maas"] = d.Name
		} else if s.existingNames["example.org"] == "" {
			s.existingNames["example.org"] = d.Name
		}
	}
	return s.findNetworks(ctx)
}

// findNetworks finds a network with DHCP, one without, and free addresses.
func (s *site) findNetworks(ctx context.Context) error {
	var subnets []struct {
		ID   int
		Name string
		CIDR string
		VLAN struct {
			DHCP bool `json:"dhcp_on"`
		}
	}
	if err := s.client.GetJSON(ctx, "subnets/", &subnets); err != nil {
		return err
	}
	s.existingNames["lan"], s.existingNames["dark"] = "", ""
	for _, n := range subnets {
		word, cidr := "dark", "10.78.0.0/24"
		if n.VLAN.DHCP {
			word, cidr = "lan", "10.77.0.0/24"
		}
		if s.existingNames[word] == "" {
			s.existingNames[word], s.existingNames[cidr] = n.Name, n.CIDR
		}
		if word == "lan" && n.Name == s.existingNames["lan"] {
			if err := s.findAddresses(ctx, n.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// findAddresses finds some addresses in a network that a machine can have.
func (s *site) findAddresses(ctx context.Context, subnet int) error {
	var ranges []struct{ Start, End string }
	if err := s.client.GetJSON(ctx, fmt.Sprintf("subnets/%d/?op=unreserved_ip_ranges", subnet), &ranges); err != nil {
		return err
	}
	for _, r := range ranges {
		start, err := netip.ParseAddr(r.Start)
		if err != nil || !start.Is4() {
			continue
		}
		end, err := netip.ParseAddr(r.End)
		for a := end; err == nil && a.Compare(start) > 0 && len(s.freeAddresses) < 64; a = a.Prev() {
			s.freeAddresses = append(s.freeAddresses, a)
		}
	}
	return nil
}

// freeAddress is an address that no other test of the run uses. It is empty
// where none is left.
func (s *site) freeAddress(word string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.freeAddresses) == 0 {
		return ""
	}
	address := s.freeAddresses[0].String()
	s.freeAddresses = s.freeAddresses[1:]
	s.addresses.Store(address, word)
	return address
}

// lentPairs are the lent machines in pairs. A test has one pair at a time.
func (s *site) lentPairs() chan []realmaas.Machine {
	s.lendOnce.Do(func() {
		s.idleMachines = make(chan []realmaas.Machine, len(s.lent))
		for pair := range slices.Chunk(s.lent, 2) {
			s.idleMachines <- pair
			if len(s.LXDs) == 0 {
				break // each story has a key of its own, and several keys would split the fleet
			}
		}
	})
	return s.idleMachines
}

// lendMachines gives a test two lent machines, or the only one, and takes them
// back at its end. It waits until some are idle.
func (s *site) lendMachines(t *testing.T) []realmaas.Machine {
	t.Helper()
	if len(s.lent) == 0 {
		t.Skipf("it deploys a machine, and %s names none", realmaas.MachinesVariable)
	}
	if pair, ok := s.borrowed.Load(t); ok {
		return pair.([]realmaas.Machine)
	}
	var pair []realmaas.Machine
	select {
	case pair = <-s.lentPairs():
	case <-s.storyStop.begun:
		t.Skip(s.storyStop.reason())
	}
	s.borrowed.Store(t, pair)
	t.Cleanup(func() {
		s.borrowed.Delete(t)
		defer func() { s.lentPairs() <- pair }()
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
		defer cancel()
		if err := s.releaseMachines(ctx, pair); err != nil {
			t.Error(err)
		}
	})
	return pair
}
