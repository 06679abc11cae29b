package manager

import (
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	logsv1 "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

// startLogs configures klog, and everything that logs through it, from the
// flags. It applies to the whole process.
func startLogs(c *logsv1.LoggingConfiguration) error {
	quieter := capVerbosity(c)
	if err := logsv1.ValidateAndApply(c, nil); err != nil {
		return &setting.UsageError{Flag: "--logging-format, -v, --vmodule", Text: fmt.Sprintf("these flags of the log cannot be used: %v", err)}
	}
	ctrl.SetLogger(klog.Background())
	if quieter {
		klog.Background().Info("the log's verbosity was lowered: a higher one would log bodies with Secrets", "verbosity", maxVerbosity)
	}
	return nil
}

// maxVerbosity is the highest level at which client-go logs no bodies. Bodies
// of Secrets hold MAAS's key, bootstrap data and the private key for LXD.
const maxVerbosity = 7

// capVerbosity lowers each verbosity above that, the general one and those of
// single files. It reports whether it lowered any.
func capVerbosity(c *logsv1.LoggingConfiguration) (lowered bool) {
	if c.Verbosity > maxVerbosity {
		c.Verbosity, lowered = maxVerbosity, true
	}
	for i := range c.VModule {
		if c.VModule[i].Verbosity > maxVerbosity {
			c.VModule[i].Verbosity, lowered = maxVerbosity, true
		}
	}
	return lowered
}

// engineLog passes the engine's log on to logr. Info is level 0. Debug, a line
// for each look and each request, is level 4.
func engineLog(log logr.Logger) *slog.Logger { return slog.New(logr.ToSlogHandler(log)) }
