package machines

import (
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// booleanWords are the words that MAAS takes for true and false (formencode's
// StringBool).
var booleanWords = []string{"true", "t", "yes", "y", "on", "1", "false", "f", "no", "n", "off", "0"}

// checkBooleans refuses parameters that are neither true nor false
// (api/utils.py, get_optional_param). An empty one is false.
func checkBooleans(c *request.Call, names ...string) *rest.Reply {
	for _, name := range names {
		text := strings.ToLower(strings.TrimSpace(c.Field(name)))
		if text != "" && !slices.Contains(booleanWords, text) {
			bad := rest.BadText("Invalid " + name + ": Value should be 'true' or 'false'")
			return &bad
		}
	}
	return nil
}
