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

// TestNoSwap: no machine of a cluster has swap, for a kubelet does not start with
// it. A VM takes no call more for that.
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
		"VM":          {"swap_size goes with the mark; the other PUT says that the VM is finished.", controllertest.VMMachineSpec(), false, 2},
		"Metal":       {"Allocated metal is marked by owner data, so swap_size is a PUT of its own.", controllertest.MetalMachineSpec(), false, 1},
		"Host":        {"A host of the cluster runs a kubelet, too.", controllertest.MetalMachineSpec(), true, 1},
		"CustomVM":    {"MAAS passes swap_size on for Ubuntu alone: cloud-init turns swap off.", of(controllertest.VMMachineSpec(), "custom/k8s-1-36"), false, 2},
		"CustomMetal": {"The same on bare metal.", of(controllertest.MetalMachineSpec(), "custom/k8s-1-36"), false, 1},
		"CustomHost":  {"The same on a host, beside what sets LXD up.", of(controllertest.MetalMachineSpec(), "custom/k8s-1-36"), true, 1},
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
					t.Errorf("%s\nit has swap", tc.reason)
				}
				if n := w.sim.Journal().Count("PUT machines/{id}/"); n != tc.puts {
					t.Errorf("%s\n%d PUTs of the machine, want %d", tc.reason, n, tc.puts)
				}
				data, err := w.sim.UserData(*m.Spec.SystemID)
				if err != nil || !strings.Contains(string(data), "kubeadm join") {
					t.Errorf("the bootstrap data are lost: %v\n%s", err, data)
				}
			})
		})
	}
}

// TestSwapIsLeft: the metal that was released keeps swap_size, and the next life
// asks for nothing again.
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
			t.Errorf("%d PUTs of the machine, and its swap_size is 0 already", n)
		}
		if w.maasMachine(*m.Spec.SystemID).SwapOn {
			t.Error("it has swap")
		}
	})
}

// TestDataOfOtherProgramsStay: an image may have another program than cloud-init read its
// bootstrap data, which have to reach it as they are. That its swap stays is told.
func TestDataOfOtherProgramsStay(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, data string
		refused      string // a part of the message
	}{
		"Talos":      {reason: "Talos takes one YAML document.", data: "version: v1alpha1\nmachine:\n  type: worker\n"},
		"Ignition":   {reason: "Ignition takes JSON.", data: `{"ignition":{"version":"3.4.0"}}`},
		"BrokenMIME": {reason: "It is for cloud-init, which would not run it.", data: "MIME-Version: 1.0\nno header\n", refused: "malformed"},
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
						t.Errorf("%s\nit gets (%v):\n%s", tc.reason, err, data)
					}
					w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionTrue, infrav1.MachineDeployedReason, "swap")
					if told := w.takeEvents(); !slices.ContainsFunc(told, func(e string) bool {
						return strings.HasPrefix(e, "Warning") && strings.Contains(e, "swap")
					}) {
						t.Errorf("nobody is warned: %q", told)
					}
				})
			})
		}
	}
}
