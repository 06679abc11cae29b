package machines

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// booleanWords are the words that MAAS reads as true and false (formencode's StringBool).
var booleanWords = []string{"true", "t", "yes", "y", "on", "1", "false", "f", "no", "n", "off", "0"}

// bridgeTypes are the kinds of bridges that bridge_all may make (enum.py,
// BRIDGE_TYPE_CHOICES).
var bridgeTypes = []string{"standard", "ovs"}

// badBridgeType is MAAS's message, with the placeholder that MAAS fails to replace.
const badBridgeType = "'%(value)s' is not a valid bridge_type.  It should be one of: 'standard', 'ovs'."

// checkAllocationOptions checks the options that MAAS reads first when it allocates or
// deploys, in MAAS's order (api/machines.py, get_allocation_options).
func checkAllocationOptions(c *request.Call) *rest.Reply {
	if bad := checkBooleans(c, "install_rackd", "install_kvm", "register_vmhost", "ephemeral_deploy", "bridge_all"); bad != nil {
		return bad
	}
	if c.HasField("bridge_type") && !slices.Contains(bridgeTypes, c.Field("bridge_type")) {
		bad := rest.BadFieldReply("bridge_type", badBridgeType)
		return &bad
	}
	if bad := checkBooleans(c, "bridge_stp"); bad != nil {
		return bad
	}
	if text := c.Field("bridge_fd"); text != "" {
		if _, err := strconv.Atoi(strings.TrimSpace(text)); err != nil {
			bad := rest.BadTextReply("Invalid bridge_fd: Please enter an integer value")
			return &bad
		}
	}
	return checkBooleans(c, "enable_hw_sync")
}

// bridgeParams are the parameters of the bridges that bridge_all makes.
func bridgeParams(c *request.Call) rest.Object {
	return rest.Object{
		"bridge_type": cmp.Or(c.Field("bridge_type"), bridgeTypes[0]), "bridge_stp": rest.ReadBool(c.Field("bridge_stp")), "bridge_fd": c.NumberField("bridge_fd", 0),
	}
}

// checkBooleans refuses parameters that are neither true nor false
// (api/utils.py, get_optional_param). An empty one is false.
func checkBooleans(c *request.Call, names ...string) *rest.Reply {
	for _, name := range names {
		text := strings.ToLower(strings.TrimSpace(c.Field(name)))
		if text != "" && !slices.Contains(booleanWords, text) {
			bad := rest.BadTextReply("Invalid " + name + ": Value should be 'true' or 'false'")
			return &bad
		}
	}
	return nil
}
