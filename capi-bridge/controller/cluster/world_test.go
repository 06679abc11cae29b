package cluster_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/cluster"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/identity"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
)

const (
	testNamespace = controllertest.ControlPlaneNamespace
	testCluster   = "c1"
	testHost      = "c1-7a01d5.maas" // of the UID below
)

// clusterWorld is a Cluster, its MaasCluster, and a simulated MAAS.
type clusterWorld struct {
	t             *testing.T
	client        client.WithWatch
	agent         string // how the manager names itself to MAAS
	composer      string // who makes VMs; empty: MAAS where it can
	maas          *sim.Server
	maasClient    *maas.Client // another client of that MAAS
	recorder      *events.FakeRecorder
	writes        []string // what was written to the API server
	refusesWrites bool     // the API server takes no writes
	writesLeft    int      // so many writes until it is; zero: it stays
	now           time.Time

	*cluster.Reconciler
}

func clusterScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	return controllertest.Scheme(t)
}

func newCluster() *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testCluster, UID: "9c6c5bd6-57e3-4ec2-b0fd-4dbb2be3a8c5"}}
}

func newMaasCluster() *infrav1.MaasCluster {
	return &infrav1.MaasCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testNamespace, Name: testCluster, UID: "maas-cluster",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: testCluster, UID: "9c6c5bd6-57e3-4ec2-b0fd-4dbb2be3a8c5"}},
		},
		Spec: infrav1.MaasClusterSpec{DNSDomain: "maas"},
	}
}

// newClusterWorld makes the world. change may change the two objects; nil leaves
// them.
func newClusterWorld(t *testing.T, model sim.Model, change func(*clusterv1.Cluster, *infrav1.MaasCluster), more ...client.Object) *clusterWorld {
	t.Helper()
	if len(model.Hosts) == 0 {
		model.Hosts = []sim.HostModel{{Name: "host1", Cores: 8, MemoryMiB: 16384, Zone: "az1"}}
		model.Zones = append(model.Zones, "az1")
	}
	w := &clusterWorld{t: t, maas: sim.StartServer(t, model), now: time.Now()}
	owner, object := newCluster(), newMaasCluster()
	if change != nil {
		change(owner, object)
	}
	w.client = interceptor.NewClient(controllertest.FakeAPI(t, slices.Concat([]client.Object{owner, object}, controllertest.CredentialObjects(w.maas), more)...), w.watchWrites())
	w.recorder = events.NewFakeRecorder(100)
	w.Reconciler = &cluster.Reconciler{Client: w.client, Sites: w.newSites(), Recorder: w.recorder, Now: func() time.Time { return w.now }}
	w.maasClient = newMAASClient(t, w.maas)
	return w
}

func newMAASClient(t *testing.T, s *sim.Server) *maas.Client {
	t.Helper()
	c, err := maas.New(maas.Config{URL: s.URL, APIKey: s.APIKey()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// newSites are those of a manager that just began.
func (w *clusterWorld) newSites() controller.Sites {
	rows := ledger.LocalRegions{Ledger: ledger.NewMemory(nil)}
	w.t.Cleanup(func() { _ = rows.Close() })
	sites := identity.New(identity.Config{
		Finder: identity.Finder{Reader: w.client, Namespace: infrav1.DefaultNamespace}, Ledger: rows, CredentialsPeriod: time.Minute, UserAgent: w.agent, Composer: w.composer,
		Now: func() time.Time { return w.now },
	})
	w.t.Cleanup(sites.Close)
	return sites
}

var errAPIServerDown = errors.New("the API server does not answer")

// watchWrites notes writes, and fails them while the API server is dead.
func (w *clusterWorld) watchWrites() interceptor.Funcs {
	note := func(what string, o client.Object) error {
		if w.writesLeft > 0 {
			w.writesLeft--
			w.refusesWrites = w.refusesWrites || w.writesLeft == 0
		}
		if w.refusesWrites {
			return errAPIServerDown
		}
		w.writes = append(w.writes, fmt.Sprintf("%s %T %s", what, o, o.GetName()))
		return nil
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if o.GetObjectKind().GroupVersionKind().Kind == controllertest.ForbiddenControlPlaneKind {
				return apierrors.NewForbidden(schema.GroupResource{Resource: controllertest.ForbiddenControlPlaneKind}, key.Name, nil)
			}
			return c.Get(ctx, key, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := note("patch", o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := note("patch "+sub, o); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}
}

var clusterKey = types.NamespacedName{Namespace: testNamespace, Name: testCluster}

// reconcileOnce goes one round.
func (w *clusterWorld) reconcileOnce() (ctrl.Result, error) {
	w.t.Helper()
	return w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: clusterKey})
}

// reconcileUntilSteady goes as many rounds as its own writes would wake it for.
func (w *clusterWorld) reconcileUntilSteady() *infrav1.MaasCluster {
	w.t.Helper()
	for range 10 {
		before := len(w.writes)
		result, err := w.reconcileOnce()
		if err != nil {
			w.t.Fatal(err)
		}
		if len(w.writes) == before && (result.RequeueAfter == 0 || result.RequeueAfter > 10*time.Second) {
			return w.findMaasCluster()
		}
	}
	w.t.Fatalf("it writes for ever: %q", w.writes)
	return nil
}

// findMaasCluster is the MaasCluster, nil if it is gone.
func (w *clusterWorld) findMaasCluster() *infrav1.MaasCluster {
	w.t.Helper()
	var c infrav1.MaasCluster
	if err := w.client.Get(w.t.Context(), clusterKey, &c); client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	} else if err != nil {
		return nil
	}
	return &c
}

// changeMaasCluster changes the MaasCluster.
func (w *clusterWorld) changeMaasCluster(f func(*infrav1.MaasCluster)) {
	w.t.Helper()
	c := w.findMaasCluster()
	f(c)
	if err := w.client.Update(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// clusterMachine describes a MaasMachine of the cluster.
type clusterMachine struct {
	worker, deploying bool
	addresses         []string
	off               bool
	zone              string
	bareMetal         bool
	host              *metav1.Condition // its LXDReady
}

// addMachine makes a MaasMachine with a status.
func (w *clusterWorld) addMachine(name string, m clusterMachine) {
	w.t.Helper()
	object := &infrav1.MaasMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testNamespace, Name: name, Finalizers: []string{infrav1.MachineFinalizer},
			Labels: map[string]string{clusterv1.ClusterNameLabel: testCluster, clusterv1.MachineControlPlaneLabel: ""},
		},
		Spec: infrav1.MaasMachineSpec{Image: "ubuntu/noble"},
	}
	if m.worker {
		delete(object.Labels, clusterv1.MachineControlPlaneLabel)
	}
	if m.bareMetal {
		object.Spec = controllertest.MetalMachineSpec()
	} else {
		object.Spec.ProvisioningMode = ptr.To(infrav1.ProvisioningModeLXD)
	}
	if err := w.client.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	w.setMachineStatus(name, m)
}

// setMachineStatus changes what is seen of a MaasMachine.
func (w *clusterWorld) setMachineStatus(name string, m clusterMachine) {
	w.t.Helper()
	object := w.getMachine(name)
	object.Status = infrav1.MaasMachineStatus{
		MachineState: ptr.To(infrav1.MachineState("Deployed")), MachinePowered: !m.off, FailureDomain: cmp.Or(m.zone, "az1"),
	}
	object.Status.Initialization.Provisioned = ptr.To(true)
	if m.deploying {
		object.Status.MachineState, object.Status.Initialization.Provisioned = ptr.To(infrav1.MachineState("Deploying")), nil
	}
	for _, ip := range m.addresses {
		object.Status.Addresses = append(object.Status.Addresses,
			clusterv1.MachineAddress{Type: clusterv1.MachineExternalIP, Address: ip}, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip})
	}
	if m.host != nil {
		conditions.Set(object, *m.host)
	}
	if err := w.client.Status().Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *clusterWorld) getMachine(name string) *infrav1.MaasMachine {
	w.t.Helper()
	var object infrav1.MaasMachine
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: name}, &object); err != nil {
		w.t.Fatal(err)
	}
	return &object
}

// deleteObject asks for an object's deletion; a finalizer may hold it.
func (w *clusterWorld) deleteObject(o client.Object) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// removeMachineFinalizers takes the finalizer off a MaasMachine.
func (w *clusterWorld) removeMachineFinalizers(name string) {
	w.t.Helper()
	object := w.getMachine(name)
	object.Finalizers = nil
	if err := w.client.Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// publishedAddresses is what the name points to, sorted; "none" if there is no such name.
func (w *clusterWorld) publishedAddresses(host string) string {
	w.t.Helper()
	label, domain, _ := strings.Cut(host, ".")
	record, err := w.maasClient.DNS.DNSRecord(w.t.Context(), engine.DNSName{Label: label, Domain: domain})
	if errors.Is(err, engine.ErrNotFound) {
		return "none"
	}
	if err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(record.Addresses, netip.Addr.Compare)
	var texts []string
	for _, ip := range record.Addresses {
		texts = append(texts, ip.String())
	}
	return strings.Join(texts, " ")
}

// countDNSWrites counts what was written to MAAS's DNS.
func (w *clusterWorld) countDNSWrites() int {
	n := 0
	for _, call := range w.maas.Journal().Calls {
		if strings.Contains(call.Route, "dnsresources") && !strings.HasPrefix(call.Route, "GET") {
			n++
		}
	}
	return n
}

// wantCondition checks one, by its status and reason; part is in its message.
func wantCondition(t *testing.T, c *infrav1.MaasCluster, kind string, status metav1.ConditionStatus, reason, part string) {
	t.Helper()
	got := conditions.Get(c, kind)
	if got == nil {
		t.Errorf("there is no condition %s", kind)
		return
	}
	if got.Status != status || got.Reason != reason || !strings.Contains(got.Message, part) {
		t.Errorf("%s is %s, %s: %q; want %s, %s: …%s…", kind, got.Status, got.Reason, got.Message, status, reason, part)
	}
}

const (
	conditionTrue  = metav1.ConditionTrue
	conditionFalse = metav1.ConditionFalse
)

// publishByOther makes a name in MAAS, as somebody else does.
func publishByOther(t *testing.T, w *clusterWorld, label, ip string) {
	t.Helper()
	record := engine.DNSRecord{Addresses: []netip.Addr{netip.MustParseAddr(ip)}}
	if _, err := w.maasClient.DNS.PublishDNS(t.Context(), engine.DNSName{Label: label, Domain: "maas"}, record); err != nil {
		t.Fatal(err)
	}
}
