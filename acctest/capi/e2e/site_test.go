package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/capi/workload"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// lifeWorld is a MAAS on which clusters live, and the parts of it that they may
// use.
type lifeWorld struct {
	*world
	remote   *remoteSite // nil: the simulator in this process
	settings *realmaas.Settings
	prefix   string // of everything that this run makes
	domain   string // MAAS's default domain
	image    string
	version  string // of Kubernetes
	vmHost   string // empty: any host
	hostPool string // the resource pool of the VM host
	lentPool string // the pool of the run, for the lent machines
	lent     []realmaas.Machine
	// deadAfterSeconds is how long a node may be silent.
	deadAfterSeconds int32
}

const (
	// playedTimeout is how long a change may take where guests are simulated. A
	// real MAAS writes slowly.
	playedTimeout = 20 * time.Minute
	// bootTimeout is how long a change may take where machines really boot:
	// five of them, one after the other.
	bootTimeout = 2 * time.Hour
	// sweepTimeout is how long giving machines back may take.
	sweepTimeout = 30 * time.Minute
)

// newLifeWorld starts the managers for the MAAS that the environment names.
// Without one it uses a simulator.
func newLifeWorld(t *testing.T) *lifeWorld {
	t.Helper()
	settings, err := readRemoteSettings()
	if err != nil {
		t.Fatal(err)
	}
	if settings == nil {
		l := &lifeWorld{world: newWorld(t), prefix: newPrefix(), domain: domain, image: imageName(version), version: version, hostPool: "default", deadAfterSeconds: 2}
		l.settings = &realmaas.Settings{Machines: []string{"spare-1", "spare-2"}, Interval: 100 * time.Millisecond}
		l.prepareMachines(t)
		return l
	}
	l := &lifeWorld{
		world: &world{url: settings.URL, key: settings.Key, polling: polling{playedTimeout, remotePollInterval(settings)}}, settings: settings,
		prefix: newPrefix(), image: settings.Image, version: version, vmHost: settings.VMHost, deadAfterSeconds: 10,
	}
	if image := os.Getenv(kubernetesImageVariable); image != "" {
		l.image = image
	}
	if named := os.Getenv(kubernetesVersionVariable); named != "" {
		l.version = named
	}
	l.skipUnlessConfigured(t)
	l.startRemote(t)
	return l
}

// newPrefix makes the beginning of the names of everything in one run.
func newPrefix() string { return fmt.Sprintf("tf-acc-%04x-", rand.Uint32()&0xffff) }

// skipUnlessConfigured skips the test where the environment does not name what
// it needs.
func (l *lifeWorld) skipUnlessConfigured(t *testing.T) {
	t.Helper()
	switch {
	case l.vmHost == "":
		t.Skip("the control plane is of VMs, and " + realmaas.VMHostVariable + " names no VM host")
	case l.settings.Drive.HasCommand() && l.image == "":
		t.Skip(realmaas.ImageVariable + " names no image to deploy")
	case !l.settings.Drive.HasCommand() && os.Getenv(kubernetesImageVariable) == "":
		t.Skip("machines boot, and " + kubernetesImageVariable + " names no image with kubeadm; or name a command that plays them: " + realmaas.DriveVariable)
	}
}

// startRemote starts all managers for a MAAS that can be reached only by its
// API.
func (l *lifeWorld) startRemote(t *testing.T) {
	t.Helper()
	api, err := l.settings.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.api = api
	l.remote = &remoteSite{api: api, drive: l.settings.Drive, isOurs: l.isOurs, userData: map[string][]byte{}, off: map[string]bool{}}
	l.site = l.remote
	if l.settings.Drive.HasCommand() {
		l.startPilot(t) // it runs until the lent machines are given back
	}
	l.prepareMachines(t)
	if !l.settings.Drive.HasCommand() {
		l.polling.timeout, l.deadAfterSeconds = bootTimeout, 120
		l.startManagers(t, nil)
		return
	}
	l.startManagers(t, &workload.Options{Site: l.remote, Elsewhere: true, Interval: remotePollInterval(l.settings)})
}

// startPilot drives the guests that do not really boot.
func (l *lifeWorld) startPilot(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	none := func(realmaas.Machine) bool { return false } // no lent machine is an LXD host
	go realmaas.NewPilot(l.api, l.settings.Drive, l.isOurs, none, l.settings.Interval, func(why string) { fmt.Fprintln(os.Stderr, "drive:", why) }).Run(ctx)
}

// isOurs reports whether a machine belongs to this run: its name has the
// prefix, or it is lent.
func (l *lifeWorld) isOurs(m realmaas.Machine) bool {
	return strings.HasPrefix(m.Hostname, l.prefix) || isLentMachine(l.settings, m)
}

// isLent reports whether a machine is lent.
func (l *lifeWorld) isLent(systemID string) bool {
	for _, m := range l.lent {
		if m.SystemID == systemID {
			return true
		}
	}
	return false
}

// prepareMachines reads MAAS, and puts the lent machines into a resource pool
// of the run, so that no cluster takes another machine. At the end they are
// given back, and everything with the run's prefix is removed.
func (l *lifeWorld) prepareMachines(t *testing.T) {
	t.Helper()
	l.lentPool = l.prefix + "lent"
	t.Logf("all names begin with %s", l.prefix)
	t.Cleanup(func() { l.cleanUp(t) })
	if l.remote != nil {
		l.findDomainAndPool(t)
	}
	if _, err := l.api.Send(t.Context(), "POST", "resourcepools/", url.Values{"name": {l.lentPool}}); err != nil {
		t.Fatal(err)
	}
	all, err := l.api.Machines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range l.settings.Machines {
		m, err := realmaas.FindMachine(all, name)
		if err != nil {
			t.Fatal(err)
		}
		if m.StatusName != "Ready" || m.Owner != "" {
			t.Fatalf("the lent machine %s is %s and owned by %q; want it Ready and without an owner", m.Hostname, m.StatusName, m.Owner)
		}
		l.lent = append(l.lent, m)
		if err := l.api.Change(t.Context(), m.SystemID, url.Values{"pool": {l.lentPool}}); err != nil {
			t.Fatal(err)
		}
	}
}

// findDomainAndPool finds MAAS's default domain, and the resource pool of the
// VM host.
func (l *lifeWorld) findDomainAndPool(t *testing.T) {
	t.Helper()
	for _, d := range l.listFromMAAS(t, "domains/") {
		if isDefault, _ := d["is_default"].(bool); isDefault {
			l.domain = fmt.Sprint(d["name"])
		}
	}
	pool := func(of map[string]any) string {
		named, _ := of["pool"].(map[string]any)
		return fmt.Sprint(named["name"])
	}
	var hosts []map[string]any
	err := l.api.GetJSON(t.Context(), "vm-hosts/", &hosts)
	var status *realmaas.StatusError
	if err != nil && !(errors.As(err, &status) && status.Status == 410) {
		t.Fatal(err)
	}
	for _, of := range append(hosts, l.listFromMAAS(t, "machines/")...) {
		if l.hostPool == "" && (of["name"] == l.vmHost || of["hostname"] == l.vmHost) {
			l.hostPool = pool(of)
		}
	}
	if l.domain == "" || l.hostPool == "" {
		t.Fatalf("MAAS has the default domain %q, and the VM host %s is in the resource pool %q", l.domain, l.vmHost, l.hostPool)
	}
}
