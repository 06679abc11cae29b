package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
)

// proxyAddress is the proxy that resolves names of MAAS's DNS. Cluster API's
// spec reaches clusters from this process, which reads the variable once.
var proxyAddress string

// outerEnvironment is the environment before that, for other programs. Go, for
// example, may have to fetch modules.
var outerEnvironment = os.Environ()

func TestMain(m *testing.M) {
	var err error
	if proxyAddress, err = freeport.Address(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	settings, err := readRemoteSettings()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if settings == nil || settings.Drive.HasCommand() { // else this system resolves the names
		_ = os.Setenv("HTTPS_PROXY", "http://"+proxyAddress) // setting a variable with a valid name does not fail
	}
	_ = os.Setenv("CLUSTERCTL_DISABLE_VERSIONCHECK", "1") // nor does this one
	os.Exit(m.Run())
}
