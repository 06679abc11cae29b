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

// startLogs makes klog, and all that logs through it, do as the flags say. It
// holds for the whole process.
func startLogs(c *logsv1.LoggingConfiguration) error {
	if err := logsv1.ValidateAndApply(c, nil); err != nil {
		return &setting.UsageError{Flag: "--logging-format, -v, --vmodule", Text: fmt.Sprintf("these flags of the log cannot be used: %v", err)}
	}
	ctrl.SetLogger(klog.Background())
	return nil
}

// engineLog passes the engine's log on. Its Info is level 0, its Debug, a line
// for each look and each request, level 4.
func engineLog(log logr.Logger) *slog.Logger { return slog.New(logr.ToSlogHandler(log)) }
