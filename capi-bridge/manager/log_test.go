package manager

import (
	"testing"

	logsv1 "k8s.io/component-base/logs/api/v1"
)

// TestVerbosityIsCapped: from 8 on client-go logs the bodies of Secrets.
func TestVerbosityIsCapped(t *testing.T) {
	c := logsv1.NewLoggingConfiguration()
	c.Verbosity = 10
	c.VModule = logsv1.VModuleConfiguration{{FilePattern: "request", Verbosity: 9}, {FilePattern: "machine", Verbosity: 5}}
	if !capVerbosity(c) || c.Verbosity != 7 || c.VModule[0].Verbosity != 7 || c.VModule[1].Verbosity != 5 {
		t.Errorf("it is %d, %v", c.Verbosity, c.VModule)
	}
	if capVerbosity(c) {
		t.Error("what is quiet enough was lowered again")
	}
}
