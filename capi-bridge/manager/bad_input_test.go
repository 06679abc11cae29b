package manager_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubeBadInput: bad input becomes an event, and a condition whose message
// names the field and a way out. Nothing is made, and the object can be
// deleted. The test leaves out what the API server or the webhooks refuse.
func TestKubeBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "bad", fastModel())
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	config := func(change func(*infrav1.LXDConfig)) func(*infrav1.MaasMachineSpec) {
		return func(s *infrav1.MaasMachineSpec) {
			s.LXDConfig = &infrav1.LXDConfig{}
			change(s.LXDConfig)
		}
	}
	address := func(ip string) func(*infrav1.MaasMachineSpec) {
		return func(s *infrav1.MaasMachineSpec) { s.StaticIP = &infrav1.StaticIP{IP: ip, Short: true} }
	}
	holder := newVMSpec()
	address("10.77.0.40")(&holder)
	w.createMachine("c", "holder", holder, nil)
	w.awaitReady("holder")
	cases := map[string]struct {
		why    string
		change func(*infrav1.MaasMachineSpec)
		reason string
		says   []string
	}{
		"modes":   {"An object from before the webhooks.", func(s *infrav1.MaasMachineSpec) { s.DynamicLXD = ptr.To(false) }, infrav1.InvalidSpecReason, []string{"dynamicLXD", "contradicts"}},
		"image":   {"MAAS has no such image.", func(s *infrav1.MaasMachineSpec) { s.Image = "ubuntu/nosuch" }, infrav1.InvalidSpecReason, []string{"spec.image", "ubuntu/nosuch", "ubuntu/noble"}},
		"pool":    {"Nor such a pool.", func(s *infrav1.MaasMachineSpec) { s.ResourcePool = ptr.To("nosuch") }, infrav1.InvalidSpecReason, []string{"spec.resourcePool", "nosuch", "vms"}},
		"zone":    {"Nor such a zone.", func(s *infrav1.MaasMachineSpec) { s.FailureDomain = ptr.To("nosuch") }, infrav1.InvalidSpecReason, []string{"spec.failureDomain", "nosuch", "az1"}},
		"profile": {"MAAS chooses the profile.", config(func(l *infrav1.LXDConfig) { l.Profile = ptr.To("fast") }), infrav1.ProfileNotFoundReason, []string{"spec.lxdConfig.profile", "fast", "composer"}},
		"project": {"No host has the project.", config(func(l *infrav1.LXDConfig) { l.Project = ptr.To("nosuch") }), infrav1.ProjectNotFoundReason, []string{"nosuch", "default"}},
		"host":    {"MAAS has no such host.", config(func(l *infrav1.LXDConfig) { l.VMHost = ptr.To("nosuch") }), infrav1.InvalidSpecReason, []string{"spec.lxdConfig.vmHost", "nosuch", "h1"}},
		"subnet": {"Nor such a subnet.", config(func(l *infrav1.LXDConfig) {
			l.Network = &infrav1.LXDNetworkConfig{Interfaces: []infrav1.LXDInterface{{Name: "eth0", Subnet: "nosuch"}}}
		}), infrav1.InvalidSpecReason, []string{"interfaces", "nosuch", "10.77.0.0/24"}},
		"room":         {"No host is that large.", func(s *infrav1.MaasMachineSpec) { s.MinCPU = ptr.To(99) }, infrav1.InsufficientResourcesReason, []string{"no VM host fits"}},
		"ip-malformed": {"It is no address.", address("10.77.0.300"), infrav1.InvalidSpecReason, []string{"staticIP", "10.77.0.300"}},
		"ip-nowhere":   {"No subnet has it.", address("192.168.9.9"), infrav1.StaticIPUnavailableReason, []string{"192.168.9.9", "10.77.0.0/24"}},
		"ip-dynamic":   {"DHCP lends it.", address("10.77.0.200"), infrav1.StaticIPUnavailableReason, []string{"10.77.0.200"}},
		"ip-in-use":    {"The first has it.", address("10.77.0.40"), infrav1.StaticIPUnavailableReason, []string{"10.77.0.40"}},
	}
	all := []string{"holder"}
	for name, tc := range cases {
		all = append(all, name)
		spec := newVMSpec()
		tc.change(&spec)
		w.createMachine("c", name, spec, nil)
	}
	for name, tc := range cases {
		m := w.awaitReason(name, infrav1.MachineDeployedCondition, tc.reason)
		w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionFalse, tc.reason, tc.says...)
		w.awaitEvent(name, tc.reason, tc.says[0])
	}
	w.maas.ResetJournal()
	w.awaitTwoLooks("ip-in-use", "host")
	w.wantOnlyReads()
	if n := len(w.maas.Instances()); n != 1 {
		t.Errorf("%d VMs, want the holder of the address alone", n)
	}
	w.deleteCluster(c, before, all...)
}
