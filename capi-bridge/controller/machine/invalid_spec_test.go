package machine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestWrongValues: a spec that cannot be met becomes a condition with a sentence and a hint.
// The manager makes nothing, and asks MAAS seldom.
func TestWrongValues(t *testing.T) {
	vm := func(f func(*infrav1.MaasMachineSpec)) infrav1.MaasMachineSpec {
		spec := controllertest.VMMachineSpec()
		spec.LXDConfig = &infrav1.LXDConfig{}
		f(&spec)
		return spec
	}
	metal := func(f func(*infrav1.MaasMachineSpec)) infrav1.MaasMachineSpec {
		spec := controllertest.MetalMachineSpec()
		f(&spec)
		return spec
	}
	nic := func(n infrav1.LXDInterface) infrav1.MaasMachineSpec {
		n.Name = "eth0"
		return vm(func(s *infrav1.MaasMachineSpec) {
			s.LXDConfig.Network = &infrav1.LXDNetworkConfig{Interfaces: []infrav1.LXDInterface{n}}
		})
	}
	cases := map[string]struct {
		why    string
		spec   infrav1.MaasMachineSpec
		reason string
		says   []string
	}{
		"Modes": {"Two fields contradict each other about the kind of machine.",
			vm(func(s *infrav1.MaasMachineSpec) { s.DynamicLXD = ptr.To(false) }), infrav1.InvalidSpecReason, []string{"dynamicLXD", "contradicts"}},
		"Image": {"MAAS has no such image.",
			vm(func(s *infrav1.MaasMachineSpec) { s.Image = "ubuntu/nosuch" }), infrav1.InvalidSpecReason, []string{"spec.image", "ubuntu/nosuch", "ubuntu/noble"}},
		"ImageOfMetal": {"MAAS has no such image.",
			metal(func(s *infrav1.MaasMachineSpec) { s.Image = "ubuntu/nosuch" }), infrav1.InvalidSpecReason, []string{"spec.image", "ubuntu/nosuch", "ubuntu/noble"}},
		"Pool": {"MAAS has no such resource pool.",
			vm(func(s *infrav1.MaasMachineSpec) { s.ResourcePool = ptr.To("nosuch") }), infrav1.InvalidSpecReason, []string{"spec.resourcePool", "nosuch", "metal"}},
		"PoolOfMetal": {"MAAS has no such resource pool.",
			metal(func(s *infrav1.MaasMachineSpec) { s.ResourcePool = ptr.To("nosuch") }), infrav1.InvalidSpecReason, []string{"spec.resourcePool", "nosuch", "metal"}},
		"Zone": {"MAAS has no such zone.",
			vm(func(s *infrav1.MaasMachineSpec) { s.FailureDomain = ptr.To("nosuch") }), infrav1.InvalidSpecReason, []string{"spec.failureDomain", "nosuch", "az1"}},
		"Subnet": {"MAAS has no such subnet.",
			vm(func(s *infrav1.MaasMachineSpec) {
				s.LXDConfig.Network = &infrav1.LXDNetworkConfig{Interfaces: []infrav1.LXDInterface{{Name: "eth0", Subnet: "nosuch"}}}
			}), infrav1.InvalidSpecReason, []string{"interfaces", "nosuch", "10.77.0.0/24"}},
		"Bridge": {"No host has such a bridge.",
			vm(func(s *infrav1.MaasMachineSpec) { s.LXDConfig.Network = &infrav1.LXDNetworkConfig{Bridge: "br9"} }),
			infrav1.InvalidSpecReason, []string{"br9", "br0"}},
		"VLAN": {"A VLAN can have several subnets, so the NIC must name one.",
			vm(func(s *infrav1.MaasMachineSpec) {
				s.LXDConfig.Network = &infrav1.LXDNetworkConfig{Interfaces: []infrav1.LXDInterface{{Name: "eth0", VLAN: ptr.To[int32](5)}}}
			}), infrav1.InvalidSpecReason, []string{"eth0", "subnet"}},
		"VLANOfSubnet": {"The subnet is on another VLAN.",
			nic(infrav1.LXDInterface{Subnet: "10.77.0.0/24", VLAN: ptr.To[int32](5)}), infrav1.InvalidSpecReason, []string{"eth0", "VLAN 5", "10.77.0.0/24", "VLAN 0"}},
		"VLANOfAddress": {"The subnet of the address is on another VLAN.",
			nic(infrav1.LXDInterface{IP: "10.77.0.40", VLAN: ptr.To[int32](5)}), infrav1.InvalidSpecReason, []string{"eth0", "VLAN 5", "10.77.0.0/24"}},
		"VLANOfBridge": {"The subnet of the bridge is on another VLAN.",
			nic(infrav1.LXDInterface{Bridge: "maasbr0", VLAN: ptr.To[int32](5)}), infrav1.InvalidSpecReason, []string{"maasbr0"}},
		"BridgeOfSubnet": {"No host has a bridge of that name on the subnet.",
			nic(infrav1.LXDInterface{Subnet: "10.77.0.0/24", Bridge: "br9"}), infrav1.InvalidSpecReason, []string{"eth0", "br9", "10.77.0.0/24", "maasbr0"}},
		"BridgeOfAddress": {"No host has a bridge of that name on the subnet of the address.",
			nic(infrav1.LXDInterface{IP: "10.77.0.40", Bridge: "br9"}), infrav1.InvalidSpecReason, []string{"eth0", "br9", "10.77.0.0/24"}},
		"LinkUp": {"MAAS gives each NIC of a VM an address, so link_up is impossible.",
			vm(func(s *infrav1.MaasMachineSpec) {
				s.LXDConfig.Network = &infrav1.LXDNetworkConfig{Interfaces: []infrav1.LXDInterface{{Name: "eth0", Subnet: "10.77.0.0/24", Mode: infrav1.LinkUp}}}
			}), infrav1.InvalidSpecReason, []string{"eth0", "link_up"}},
		"Profile": {"MAAS chooses the profile of a VM by itself.",
			vm(func(s *infrav1.MaasMachineSpec) { s.LXDConfig.Profile = ptr.To("fast") }), infrav1.ProfileNotFoundReason, []string{"spec.lxdConfig.profile", "fast", "MAAS always uses its own", "composer"}},
		"Project": {"No host has such a project.",
			vm(func(s *infrav1.MaasMachineSpec) { s.LXDConfig.Project = ptr.To("nosuch") }), infrav1.ProjectNotFoundReason, []string{"nosuch", "default"}},
		"ProjectOfHost": {"MAAS uses another LXD project on that host.",
			vm(func(s *infrav1.MaasMachineSpec) {
				s.LXDConfig.Project, s.LXDConfig.VMHost = ptr.To("nosuch"), ptr.To("host1")
			}), infrav1.ProjectNotFoundReason, []string{"nosuch", "default"}},
		"StaticIPOfMetal": {"The address is in no subnet of MAAS.",
			metal(func(s *infrav1.MaasMachineSpec) { s.StaticIP = &infrav1.StaticIP{IP: "192.168.9.9", Short: true} }),
			infrav1.StaticIPUnavailableReason, []string{"spec.staticIP", "192.168.9.9"}},
		"StaticIPOfMetalDynamic": {"MAAS lends addresses of the dynamic range by DHCP.",
			metal(func(s *infrav1.MaasMachineSpec) { s.StaticIP = &infrav1.StaticIP{IP: "10.77.0.200", Short: true} }),
			infrav1.StaticIPUnavailableReason, []string{"spec.staticIP", "10.77.0.200"}},
		"Host": {"MAAS has no such VM host.",
			vm(func(s *infrav1.MaasMachineSpec) { s.LXDConfig.VMHost = ptr.To("nosuch") }), infrav1.InvalidSpecReason, []string{"spec.lxdConfig.vmHost", "nosuch", "host1"}},
		"HostOfOtherZone": {"The host is in another zone.",
			vm(func(s *infrav1.MaasMachineSpec) { s.FailureDomain, s.LXDConfig.VMHost = ptr.To("az2"), ptr.To("host1") }),
			infrav1.InvalidSpecReason, []string{"spec.lxdConfig.vmHost", "host1 is in zone az1", "zone az2 is wanted", "or none"}},
		"HostOfOtherPool": {"The host is in another resource pool.",
			vm(func(s *infrav1.MaasMachineSpec) { s.ResourcePool, s.LXDConfig.VMHost = ptr.To("vms"), ptr.To("host1") }),
			infrav1.InvalidSpecReason, []string{"spec.lxdConfig.vmHost", "resource pool default", "resource pool vms is wanted"}},
		"HostWithoutTag": {"The host lacks a tag.",
			vm(func(s *infrav1.MaasMachineSpec) { s.Tags, s.LXDConfig.VMHost = []string{"gpu"}, ptr.To("host1") }),
			infrav1.InvalidSpecReason, []string{"spec.lxdConfig.vmHost", "does not carry all tags", "gpu is wanted"}},
		"StoragePool": {"No host has such a storage pool.",
			vm(func(s *infrav1.MaasMachineSpec) { s.LXDConfig.Storage = &infrav1.LXDStorageConfig{Pool: "nosuch"} }),
			infrav1.InvalidSpecReason, []string{"spec.lxdConfig.storage", "nosuch", "default"}},
		"HostTag": {"No host has the tag.",
			vm(func(s *infrav1.MaasMachineSpec) { s.Tags = []string{"gpu"} }), infrav1.InsufficientResourcesReason, []string{"gpu"}},
		"Room": {"No host has so many cores.",
			vm(func(s *infrav1.MaasMachineSpec) { s.MinCPU = ptr.To(99) }), infrav1.InsufficientResourcesReason, []string{"no VM host fits"}},
		"StaticIPMalformed": {"The text is not an IP address.",
			vm(func(s *infrav1.MaasMachineSpec) { s.StaticIP = &infrav1.StaticIP{IP: "10.77.0.300", Short: true} }), infrav1.InvalidSpecReason, []string{"staticIP", "10.77.0.300"}},
		"StaticIPNowhere": {"The address is in no subnet of MAAS.",
			vm(func(s *infrav1.MaasMachineSpec) { s.StaticIP = &infrav1.StaticIP{IP: "192.168.9.9", Short: true} }), infrav1.StaticIPUnavailableReason, []string{"192.168.9.9", "10.77.0.0/24"}},
		"StaticIPDynamic": {"MAAS lends addresses of the dynamic range by DHCP.",
			vm(func(s *infrav1.MaasMachineSpec) { s.StaticIP = &infrav1.StaticIP{IP: "10.77.0.200", Short: true} }), infrav1.StaticIPUnavailableReason, []string{"10.77.0.200"}},
		"StaticIPWaits": {"Another controller fills in the address later.",
			vm(func(s *infrav1.MaasMachineSpec) { s.StaticIP = &infrav1.StaticIP{CIDR: "10.77.0.0/24"} }), infrav1.WaitingForStaticIPReason, []string{"staticIP"}},
		"Size": {"No machine in MAAS has so many cores.",
			metal(func(s *infrav1.MaasMachineSpec) { s.MinCPU = ptr.To(999) }), infrav1.WaitingForMachineReason, []string{"999 cores"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("bad", tc.spec, nil)
				m := w.reconcileUntil("bad", infrav1.ReadyCondition, tc.reason)
				w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, tc.reason, tc.says...)
				w.takeEvents()
				w.sim.ResetJournal()
				begun := time.Now()
				for time.Since(begun) < 10*time.Minute {
					pause := w.reconcileOnce("bad").RequeueAfter
					if pause < 20*time.Second {
						t.Fatalf("the manager asks again after %s", pause)
					}
					time.Sleep(pause)
				}
				w.wantOnlyReads()
				if events := w.takeEvents(); len(events) > 0 {
					t.Errorf("the same problem causes more events: %v", events)
				}
				if left := w.sim.Instances(); len(left) > 0 {
					t.Errorf("%s\nLXD has an instance: %v", tc.why, left)
				}
				w.removeMachine("bad")
			})
		})
	}
}

// TestNamedHostAndFailureDomain: a template may name a host, while the control plane names a
// zone. If the host is in another zone, the machine is refused.
func TestNamedHostAndFailureDomain(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		spec := controllertest.VMMachineSpec()
		spec.LXDConfig = &infrav1.LXDConfig{VMHost: ptr.To("host1")}
		in := func(zone string) func(*clusterv1.Machine, *infrav1.MaasMachine) {
			return func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.FailureDomain = zone }
		}
		w.addMachine("other", spec, in("az2"))
		m := w.reconcileUntil("other", infrav1.ReadyCondition, infrav1.InvalidSpecReason)
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.InvalidSpecReason, "spec.lxdConfig.vmHost", "zone az1", "zone az2")
		w.addMachine("same", spec, in("az1"))
		if m := w.reconcileUntilReady("same"); m.Status.FailureDomain != "az1" {
			t.Errorf("it is in %q", m.Status.FailureDomain)
		}
	})
}

// TestBootstrapData: a machine needs bootstrap data that cloud-init can read. A condition names
// their Secret and never shows its content.
func TestBootstrapData(t *testing.T) {
	cases := map[string]struct {
		why, says string
		change    func(*corev1.Secret)
		reason    string
	}{
		"Ignition": {"MAAS's images boot with cloud-init.", "cloud-config", func(s *corev1.Secret) { s.Data["format"] = []byte("ignition") }, infrav1.InvalidSpecReason},
		"Empty":    {"The bootstrap provider makes the Secret before it writes the data.", "no key", func(s *corev1.Secret) { s.Data = nil }, infrav1.WaitingForBootstrapDataReason},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", controllertest.VMMachineSpec(), nil)
				s := &corev1.Secret{}
				key := fleetKeyOf("web-boot")
				if err := w.client.Get(t.Context(), key, s); err != nil {
					t.Fatal(err)
				}
				tc.change(s)
				if err := w.client.Update(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				m := w.reconcileUntil("web", infrav1.ReadyCondition, tc.reason)
				w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, tc.reason, tc.says)
				if text := conditionSummary(m) + strings.Join(w.takeEvents(), ""); strings.Contains(text, "kubeadm") {
					t.Errorf("a condition or an event shows bootstrap data: %s", text)
				}
			})
		})
	}
}

// newNoSecretsReader returns a reader whose API forbids to read Secrets.
func newNoSecretsReader(api client.WithWatch) client.Reader {
	return interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, is := o.(*corev1.Secret); is {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, nil)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
}

// TestBootstrapDataThatCannotBeRead: the condition names the Secret and does not blame MAAS.
// The machine continues when the Secret can be read.
func TestBootstrapDataThatCannotBeRead(t *testing.T) {
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachineSpec(), "BareMetal": controllertest.MetalMachineSpec()} {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", spec, nil)
				mayRead := w.APIReader
				w.APIReader = newNoSecretsReader(w.client)
				w.reconcileOnce("web")
				m := w.reconcileAtRest("web")
				w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.WaitingForBootstrapDataReason,
					"web-boot", "forbidden", "namespace "+fleetNamespace)
				for _, c := range m.Status.Conditions {
					if c.Reason == infrav1.MAASUnavailableReason {
						t.Errorf("a condition blames MAAS:\n%s", conditionSummary(m))
					}
				}
				w.APIReader = mayRead
				w.reconcileUntilReady("web")
			})
		})
	}
}

// TestWaitsForPrerequisites: the manager makes nothing before the cluster's infrastructure and
// the bootstrap data exist. A machine can be deleted without them.
func TestWaitsForPrerequisites(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("early", controllertest.VMMachineSpec(), func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.Bootstrap.DataSecretName = nil })
		w.reconcileUntil("early", infrav1.ReadyCondition, infrav1.WaitingForBootstrapDataReason)
		c := &clusterv1.Cluster{}
		if err := w.client.Get(t.Context(), fleetKeyOf(fleetCluster), c); err != nil {
			t.Fatal(err)
		}
		c.Status.Initialization.InfrastructureProvisioned = ptr.To(false)
		if err := w.client.Status().Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		w.reconcileUntil("early", infrav1.ReadyCondition, infrav1.WaitingForClusterInfrastructureReason)
		w.siteErr = &controller.CredentialsError{Message: "there is no Secret"}
		w.removeMachine("early")
		if calls := w.sim.Journal().Total(); calls != 0 {
			t.Errorf("MAAS was asked %d times", calls)
		}
	})
}

// TestMissingCredentials: without credentials, the manager starts no machine, and a running one
// stays ready. A machine that is being deleted waits, and a condition says what to do.
func TestMissingCredentials(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.siteErr = &controller.CredentialsError{Message: "there is no Secret maas-credentials", Hint: "Make it."}
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		m := w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.IdentityNotReadyReason)
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.IdentityNotReadyReason, "maas-credentials", "Make it.")
		w.siteErr = nil
		w.reconcileUntilReady("web")
		w.siteErr = &controller.CredentialsError{Message: "there is no Secret maas-credentials", Hint: "Make it."}
		w.reconcileOnce("web")
		if !conditions.IsTrue(w.getMachine("web"), infrav1.ReadyCondition) {
			t.Errorf("a running machine is not ready, because a Secret is missing: %s", conditionSummary(w.getMachine("web")))
		}
		w.markDeleted("web")
		m = w.reconcileUntil("web", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
		w.wantCondition(m, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "maas-credentials", infrav1.MachineFinalizer, *m.Spec.SystemID)
		w.siteErr = nil
		w.reconcileUntilGone("web")
		if left := w.sim.Instances(); len(left) != 0 {
			t.Errorf("LXD still has %v", left)
		}
	})
}

// TestWrongKey: a condition reports a key that MAAS refuses, and does not show the key.
func TestWrongKey(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.sim.AddFault(sim.Fault{Kind: sim.FaultStatus, Status: 401, Body: "Authorization Error: " + w.sim.APIKey()})
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		m := w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.IdentityNotReadyReason)
		for _, part := range strings.Split(w.sim.APIKey(), ":") {
			if text := conditionSummary(m) + strings.Join(w.takeEvents(), ""); strings.Contains(text, part) {
				t.Errorf("a condition or an event shows the key: %s", text)
			}
		}
	})
}
