package machine_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestNoSwap: no machine of a cluster has swap, because a kubelet refuses to start with it. A
// VM needs no additional call for that.
func TestNoSwap(t *testing.T) {
	t.Parallel()
	of := func(spec infrav1.MaasMachineSpec, image string) infrav1.MaasMachineSpec {
		spec.Image = image
		return spec
	}
	cases := map[string]struct {
		reason string
		spec   infrav1.MaasMachineSpec
		hosts  bool
		puts   int
	}{
		"VM":          {"One PUT sets the mark and swap_size. The other says that the VM is finished.", controllertest.VMMachineSpec(), false, 2},
		"Metal":       {"The mark of bare metal is in its owner data, so swap_size needs a PUT of its own.", controllertest.MetalMachineSpec(), false, 1},
		"Host":        {"A VM host that belongs to the cluster runs a kubelet, too.", controllertest.MetalMachineSpec(), true, 1},
		"CustomVM":    {"MAAS applies swap_size only to Ubuntu images, so user-data turns swap off.", of(controllertest.VMMachineSpec(), "custom/k8s-1-36"), false, 2},
		"CustomMetal": {"On bare metal, too, MAAS applies swap_size only to Ubuntu images.", of(controllertest.MetalMachineSpec(), "custom/k8s-1-36"), false, 1},
		"CustomHost":  {"The user-data of a VM host turns swap off and also sets up LXD.", of(controllertest.MetalMachineSpec(), "custom/k8s-1-36"), true, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				if tc.hosts {
					w.changeCluster(func(c *infrav1.MaasCluster) { c.Spec.LXDControlPlaneCluster = ptr.To(true) })
				}
				w.addMachine("web", tc.spec, nil)
				m := w.reconcileUntilReady("web")
				if tc.hosts {
					m = w.reconcileUntil("web", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
				}
				if w.maasMachine(*m.Spec.SystemID).SwapOn {
					t.Errorf("%s\nthe machine has swap", tc.reason)
				}
				if n := w.sim.Journal().Count("PUT machines/{id}/"); n != tc.puts {
					t.Errorf("%s\n%d PUTs of the machine, want %d", tc.reason, n, tc.puts)
				}
				data, err := w.sim.UserData(*m.Spec.SystemID)
				if err != nil || !strings.Contains(string(data), "kubeadm join") {
					t.Errorf("the user-data lacks the bootstrap data: %v\n%s", err, data)
				}
			})
		})
	}
}

// TestSwapIsLeft: a released machine keeps its swap_size, so its next deployment does not set it
// again.
func TestSwapIsLeft(t *testing.T) {
	t.Parallel()
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("one", controllertest.MetalMachineSpec(), func(_ *clusterv1.Machine, m *infrav1.MaasMachine) { m.Spec.Tags = []string{"nvme"} })
		w.reconcileUntilReady("one")
		w.removeMachine("one")
		w.sim.ResetJournal()
		w.addMachine("two", controllertest.MetalMachineSpec(), func(_ *clusterv1.Machine, m *infrav1.MaasMachine) { m.Spec.Tags = []string{"nvme"} })
		m := w.reconcileUntilReady("two")
		if n := w.sim.Journal().Count("PUT machines/{id}/"); n != 0 {
			t.Errorf("%d PUTs of the machine, although its swap_size is 0 already", n)
		}
		if w.maasMachine(*m.Spec.SystemID).SwapOn {
			t.Error("the machine has swap")
		}
	})
}

// TestDataOfOtherProgramsStay: in some images, another program than cloud-init reads the
// bootstrap data. The data arrive unchanged, and a warning says that swap stays on.
func TestDataOfOtherProgramsStay(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, data string
		refused      string // a part of the message
	}{
		"Talos":      {reason: "Talos reads exactly one YAML document.", data: "version: v1alpha1\nmachine:\n  type: worker\n"},
		"Ignition":   {reason: "Ignition reads only JSON.", data: `{"ignition":{"version":"3.4.0"}}`},
		"BrokenMIME": {reason: "MIME data are for cloud-init, which does not run malformed ones.", data: "MIME-Version: 1.0\nno header\n", refused: "malformed"},
	}
	for name, tc := range cases {
		for kind, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachineSpec(), "Metal": controllertest.MetalMachineSpec()} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
					spec := spec
					spec.Image = "custom/k8s-1-36"
					w.addMachine("web", spec, nil)
					secret := &corev1.Secret{}
					if err := w.client.Get(t.Context(), fleetKeyOf("web-boot"), secret); err != nil {
						t.Fatal(err)
					}
					secret.Data["value"] = []byte(tc.data)
					if err := w.client.Update(t.Context(), secret); err != nil {
						t.Fatal(err)
					}
					if tc.refused != "" {
						m := w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.InvalidSpecReason)
						w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.InvalidSpecReason, tc.refused)
						return
					}
					m := w.reconcileUntilReady("web")
					if data, err := w.sim.UserData(*m.Spec.SystemID); err != nil || string(data) != tc.data {
						t.Errorf("%s\nthe machine gets (%v):\n%s", tc.reason, err, data)
					}
					w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionTrue, infrav1.MachineDeployedReason, "swap")
					if told := w.takeEvents(); !slices.ContainsFunc(told, func(e string) bool {
						return strings.HasPrefix(e, "Warning") && strings.Contains(e, "swap")
					}) {
						t.Errorf("no event warns of swap: %q", told)
					}
				})
			})
		}
	}
}
