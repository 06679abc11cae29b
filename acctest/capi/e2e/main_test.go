package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
)

// proxyAddress is where names of MAAS's DNS are resolved. Cluster API's spec
// reaches clusters from this process, which reads the variable once.
var proxyAddress string

// outerEnvironment is the environment of programs that have nothing to do with that, such as
// Go's, which may have modules to fetch.
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
	if settings == nil || settings.Drive.HasCommand() { // else this system resolves them
		_ = os.Setenv("HTTPS_PROXY", "http://"+proxyAddress) // the name is a name
	}
	_ = os.Setenv("CLUSTERCTL_DISABLE_VERSIONCHECK", "1") // as is this one
	os.Exit(m.Run())
}
