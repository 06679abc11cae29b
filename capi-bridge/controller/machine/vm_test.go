package machine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
)

// TestVM takes a VM from its object to a running machine and back.
func TestVM(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web-1", controllertest.VMMachineSpec(), func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.FailureDomain = "az2" })
		m := w.reconcileUntilReady("web-1")
		vm := w.maasMachine(*m.Spec.SystemID)
		if got, want := *m.Spec.ProviderID, "maas-lxd://az2/"+vm.SystemID; got != want {
			t.Errorf("providerID %s, want %s", got, want)
		}
		if vm.Host != "host2" || vm.Zone != "az2" || vm.Cores != 2 || !strings.HasPrefix(vm.Hostname, "web-1-") {
			t.Errorf("MAAS has %+v", vm)
		}
		data, err := w.sim.UserData(vm.SystemID)
		if err != nil || string(data) != bootstrapUserData {
			t.Errorf("it was deployed with %q, %v", data, err)
		}
		for _, kind := range []string{
			infrav1.MachineDeployedCondition, infrav1.LXDHostSelectedCondition, infrav1.LXDResourcesAllocatedCondition,
			infrav1.LXDVMCreatedCondition, infrav1.LXDVMDeployedCondition,
		} {
			w.wantCondition(m, kind, metav1.ConditionTrue, kind)
		}
		s := m.Status
		if !s.Ready || !ptr.Deref(s.Initialization.Provisioned, false) || !s.MachinePowered || *s.MachineState != "Deployed" ||
			*s.LXDHost != "host2" || s.FailureDomain != "az2" || *s.ProvisioningMode != infrav1.ProvisioningModeLXD {
			t.Errorf("status %+v", s)
		}
		if s.VMResourceUsage.AllocatedCores != 2 || s.VMResourceUsage.AllocatedMemory != 4096 || s.VMResourceUsage.AllocatedDisk != 20 {
			t.Errorf("resource usage %+v", s.VMResourceUsage)
		}
		if len(s.Addresses) < 4 || s.Addresses[0].Type != clusterv1.MachineHostName || s.Addresses[0].Address != vm.Hostname {
			t.Errorf("addresses %v", s.Addresses)
		}
		w.removeMachine("web-1")
		if left := w.sim.Instances(); len(left) != 0 {
			t.Errorf("left in LXD: %v", left)
		}
	})
}

// TestStagesAreSentences: while a VM is under way, Ready says what is done with it,
// and not just the word that MAAS has for it, which may be "Ready".
func TestStagesAreSentences(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		for begun := time.Now(); time.Since(begun) < 10*time.Minute; time.Sleep(time.Second) {
			w.reconcileOnce("web")
			c := conditions.Get(w.getMachine("web"), infrav1.ReadyCondition)
			if c == nil {
				continue
			}
			if c.Status == metav1.ConditionTrue {
				return
			}
			if id := w.getMachine("web").Annotations[ownership.SystemIDAnnotation]; id != "" && !strings.Contains(c.Message, id) || c.Message == "" {
				t.Fatalf("Ready is %s (%s), because of %q", c.Status, c.Reason, c.Message)
			}
		}
		t.Error("never ready")
	})
}
