package acctest_test

import (
	"fmt"
	"testing"
)

// TestAccGoneBridgeNamed names the bridge that the interface of a VM is on already. The VM stays.
// Another bridge replaces it.
func TestAccGoneBridgeNamed(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	var subnets []maasSubnet
	x.callAsOperator(t, "GET", "subnets/", &subnets)
	lan := subnets[0].CIDR
	vm := func(more string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", fmt.Sprintf(`interfaces = { eth0 = { subnet = %q%s } }`, lan, more), x.deploy()))
	}
	w := newWorkspace(t, vm(""))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantRespelled(t, x.target, "web", "It is on that bridge.", vm(`, bridge = "br0"`))
	w.wantRespelled(t, x.target, "web", "It stays on its bridge.", vm(""))
	w.configure(t, vm(`, bridge = "br7"`))
	w.wantRefusedPlan(t, `Cannot replace VM web bridge "br7"`)
	w.configure(t, vm(""))
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
