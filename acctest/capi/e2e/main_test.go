package e2e

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// proxyAddress is where names of MAAS's DNS are resolved. Cluster API's spec
// reaches clusters from this process, which reads the variable once.
var proxyAddress string

// outside is the environment of programs that have nothing to do with that, such as
// Go's, which may have modules to fetch.
var outside = os.Environ()

func TestMain(m *testing.M) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	proxyAddress = l.Addr().String()
	_ = l.Close()                                         // whoever takes the port now makes the proxy fail
	_ = os.Setenv("HTTPS_PROXY", "http://"+proxyAddress)  // the name is a name
	_ = os.Setenv("CLUSTERCTL_DISABLE_VERSIONCHECK", "1") // as is this one
	os.Exit(m.Run())
}
