package machine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
)

// TestIdentityLimits: what the identity does not allow is refused before MAAS is asked
// to make or allocate anything; where it allows one thing, that is taken.
func TestIdentityLimits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		limits infrav1.IdentityLimits
		spec   infrav1.MaasMachineSpec
		says   string // empty: it is made
	}{
		"Pool":       {"The pool belongs to another tenant.", infrav1.IdentityLimits{ResourcePools: []string{"vms"}}, controllertest.WithChange(controllertest.MetalMachineSpec(), func(s *infrav1.MaasMachineSpec) { s.ResourcePool = ptr.To("metal") }), "spec.resourcePool"},
		"PoolOpen":   {"There are several allowed pools, so the tenant must choose one.", infrav1.IdentityLimits{ResourcePools: []string{"vms", "metal"}}, controllertest.MetalMachineSpec(), "wants one to be named"},
		"PoolOnly":   {"The only allowed pool is taken as the default, and has no machine.", infrav1.IdentityLimits{ResourcePools: []string{"metal"}}, controllertest.MetalMachineSpec(), "pool metal"},
		"Zone":       {"The zone is not allowed.", infrav1.IdentityLimits{Zones: []string{"az1"}}, controllertest.WithChange(controllertest.VMMachineSpec(), func(s *infrav1.MaasMachineSpec) { s.FailureDomain = ptr.To("az2") }), "spec.failureDomain"},
		"ZoneOnly":   {"The only allowed zone is taken as the default.", infrav1.IdentityLimits{Zones: []string{"az2"}}, controllertest.VMMachineSpec(), ""},
		"Host":       {"The host is not allowed.", infrav1.IdentityLimits{Hosts: []string{"host1"}}, controllertest.WithChange(controllertest.VMMachineSpec(), func(s *infrav1.MaasMachineSpec) { s.LXDConfig = &infrav1.LXDConfig{VMHost: ptr.To("host2")} }), "spec.lxdConfig.vmHost"},
		"HostOnly":   {"The only allowed host is taken as the default.", infrav1.IdentityLimits{Hosts: []string{"host2"}}, controllertest.VMMachineSpec(), ""},
		"Domain":     {"The domain is not allowed.", infrav1.IdentityLimits{Domains: []string{"maas"}}, controllertest.WithChange(controllertest.VMMachineSpec(), func(s *infrav1.MaasMachineSpec) { s.LXDConfig = &infrav1.LXDConfig{Domain: "corp"} }), "spec.lxdConfig.domain"},
		"DomainOpen": {"The domain of the cluster is taken as the default.", infrav1.IdentityLimits{Domains: []string{"maas", "corp"}}, controllertest.VMMachineSpec(), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.site.Limits = tc.limits
				w.addMachine("m", tc.spec, nil)
				if tc.says == "" {
					m := w.reconcileUntilReady("m")
					got := w.maasMachine(*m.Spec.SystemID)
					if len(tc.limits.Hosts) > 0 && got.Host != tc.limits.Hosts[0] || len(tc.limits.Zones) > 0 && got.Zone != tc.limits.Zones[0] {
						t.Errorf("%s\nMAAS has %+v", tc.reason, got)
					}
					return
				}
				for range 4 {
					w.reconcileOnce("m")
					time.Sleep(5 * time.Second)
				}
				if got := conditionSummary(w.getMachine("m")); !strings.Contains(got, tc.says) {
					t.Errorf("%s\nit does not say %q:\n%s", tc.reason, tc.says, got)
				}
				if n := countAcquiredMetal(w.sim); n > 0 || len(w.sim.Instances()) > 0 {
					t.Errorf("%s\nmade all the same: %d machines, %v", tc.reason, n, w.sim.Instances())
				}
			})
		})
	}
}

// TestTakeOverWithinLimits: nor is anything taken over that the identity does not
// allow. The object is not Provisioned, and goes without touching the machine.
func TestTakeOverWithinLimits(t *testing.T) {
	t.Parallel()
	incumbents := map[string]func(*machineWorld) (string, infrav1.MaasMachineSpec){
		"VM": (*machineWorld).makeIncumbentVM,
		"Metal": func(w *machineWorld) (string, infrav1.MaasMachineSpec) {
			return w.deployAsIncumbent("metal").SystemID, controllertest.MetalMachineSpec()
		},
	}
	cases := map[string]struct {
		reason  string
		limits  infrav1.IdentityLimits
		ready   bool // as the other provider left it
		forged  bool // it came with a key, and the identity allows take-over
		deleted bool // before anything else is seen
		says    string
	}{
		"Ready":   {reason: "The other provider reported the machine as ready.", limits: infrav1.IdentityLimits{ResourcePools: []string{"vms"}}, ready: true, says: "pool"},
		"Begun":   {reason: "The other provider had not reported the machine as ready.", limits: infrav1.IdentityLimits{ResourcePools: []string{"vms"}}, says: "pool"},
		"Zone":    {reason: "The machine is in a zone that is not allowed.", limits: infrav1.IdentityLimits{Zones: []string{"az9"}}, says: "zone"},
		"Forged":  {reason: "Annotations that claim the machine for this manager prove nothing.", limits: infrav1.IdentityLimits{Zones: []string{"az9"}}, forged: true, says: "zone"},
		"Deleted": {reason: "The object is being deleted when it is first seen.", limits: infrav1.IdentityLimits{ResourcePools: []string{"vms"}}, ready: true, deleted: true},
	}
	for kind, make := range incumbents {
		for name, tc := range cases {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
					id, spec := make(w)
					w.site.Limits, w.site.AllowTakeOver = tc.limits, tc.forged
					w.addMachine("old", spec, func(c *clusterv1.Machine, m *infrav1.MaasMachine) {
						withIncumbentIDs(id, tc.ready)(c, m)
						if tc.limits.ResourcePools != nil {
							m.Spec.ResourcePool = ptr.To("vms")
						}
						m.Status.MachineState = ptr.To(infrav1.MachineState("Deployed"))
						if tc.forged {
							m.Status = infrav1.MaasMachineStatus{}
							m.Annotations = map[string]string{
								ownership.KeyAnnotation: "uid", ownership.KindAnnotation: map[string]string{"VM": "vm", "Metal": "machine"}[kind],
								ownership.SystemIDAnnotation: id, ownership.AdoptionAnnotation: "none",
							}
							m.Spec.ProviderID = nil
						}
					})
					w.sim.ResetJournal()
					if !tc.deleted {
						m := w.reconcileUntil("old", infrav1.ReadyCondition, infrav1.ConflictReason)
						w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.ConflictReason, tc.says)
						for range 3 {
							time.Sleep(w.reconcileOnce("old").RequeueAfter)
						}
						if m = w.getMachine("old"); ptr.Deref(m.Status.Initialization.Provisioned, false) || m.Status.Ready {
							t.Errorf("%s\nit is provisioned: %+v", tc.reason, m.Status)
						}
					}
					w.removeMachine("old")
					w.wantOnlyReads()
					w.wantStillDeployed(id, tc.reason)
				})
			})
		}
	}
}

// TestTakeOverOfVMsWithinLimits: of a VM, its host and its domain count, too.
func TestTakeOverOfVMsWithinLimits(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]infrav1.IdentityLimits{
		"host": {Hosts: []string{"host9"}}, "domain": {Domains: []string{"corp"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				id, spec := w.makeIncumbentVM()
				w.site.Limits = limits
				w.addMachine("old", spec, withIncumbentIDs(id, true))
				w.sim.ResetJournal()
				m := w.reconcileUntil("old", infrav1.ReadyCondition, infrav1.ConflictReason)
				w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.ConflictReason, name)
				w.removeMachine("old")
				w.wantOnlyReads()
				w.wantStillDeployed(id, "It is outside of the limits.")
			})
		})
	}
}

// TestRegisterWithinLimits: nor does a node that runs already become an LXD host in a
// zone or a resource pool that the identity does not allow.
func TestRegisterWithinLimits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		limits infrav1.IdentityLimits
		hosts  infrav1.LXDHostConfig
		begun  bool // its LXD was waited for before the limits came
		says   string
	}{
		"Zone":        {reason: "The zone belongs to another tenant.", limits: infrav1.IdentityLimits{Zones: []string{"az1"}}, hosts: infrav1.LXDHostConfig{Zone: "az2"}, says: "zone"},
		"Pool":        {reason: "The pool belongs to another tenant.", limits: infrav1.IdentityLimits{ResourcePools: []string{"metal"}}, hosts: infrav1.LXDHostConfig{ResourcePool: "vms"}, says: "resourcePool"},
		"Begun":       {reason: "The limits were set after the object was made.", limits: infrav1.IdentityLimits{ResourcePools: []string{"metal"}}, hosts: infrav1.LXDHostConfig{ResourcePool: "vms"}, begun: true, says: "resourcePool"},
		"MachinePool": {reason: "The LXD host would be in the machine's own pool.", limits: infrav1.IdentityLimits{ResourcePools: []string{"metal"}}, says: "resourcePool"},
		"Allowed":     {reason: "Both pools are allowed.", limits: infrav1.IdentityLimits{ResourcePools: []string{"vms"}, Zones: []string{"az1"}}, hosts: infrav1.LXDHostConfig{ResourcePool: "vms"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
				w.changeCluster(func(c *infrav1.MaasCluster) {
					c.Spec.LXDConfig = &tc.hosts
					c.Spec.LXDConfig.Enabled, c.Spec.LXDConfig.StorageBackend = ptr.To(true), "dir"
				})
				if tc.begun {
					w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
				}
				w.site.Limits = tc.limits
				w.runInitHost(id)
				w.sim.ResetJournal()
				if tc.says == "" {
					w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
					return
				}
				m := w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.LXDFailedReason)
				w.wantCondition(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.LXDFailedReason, tc.says)
				w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
				for range 3 {
					time.Sleep(w.reconcileOnce("db").RequeueAfter)
				}
				w.wantOnlyReads()
				if got := w.vmHostsOn(id); len(got) != 0 {
					t.Errorf("%s\nregistered: %+v", tc.reason, got)
				}
				w.removeMachine("db")
				if got := w.maasMachine(id); got.StatusName != "Ready" || got.Owner != "" {
					t.Errorf("%s\ngiven back as %+v", tc.reason, got)
				}
			})
		})
	}
}
