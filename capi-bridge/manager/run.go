package manager

import (
	"context"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

// Run runs the command manager until ctx ends.
func Run(ctx context.Context, p setting.Program) error {
	c, err := parseFlags(p)
	if err != nil {
		return err
	}
	if err := startLogs(c.logs); err != nil {
		return err
	}
	for _, f := range c.ignored {
		ctrl.Log.WithName("setup").Info("a flag has no effect", "flag", "--"+f.name, "instead", f.instead)
	}
	if err := c.completeOptions(p); err != nil {
		return err
	}
	config, err := c.restConfig(p)
	if err != nil {
		return err
	}
	counted := NewMetrics()
	if err := counted.Register(metrics.Registry); err != nil {
		return fmt.Errorf("cannot register metrics: %w", err)
	}
	m, err := New(ctx, config, c.Options, counted)
	if err != nil {
		return err
	}
	ctrl.Log.WithName("setup").Info("starting", "version", p.Version, "namespace", c.Namespace)
	return m.Start(ctx)
}

// completeOptions sets the options that follow from the flags and the process's
// surroundings.
func (c *commandLine) completeOptions(p setting.Program) error {
	tlsOptions, metricsOptions, err := flags.GetManagerOptions(c.diagnostics)
	if err != nil {
		return &setting.UsageError{Flag: "--tls-min-version, --tls-cipher-suites, --tls-curve-preferences", Text: err.Error()}
	}
	c.TLS, c.Options.Metrics, c.Getenv = tlsOptions, *metricsOptions, p.Getenv
	if c.ManagerNamespace == "" {
		c.ManagerNamespace = ownNamespace()
	}
	return nil
}

// podNamespace is the file from which a pod reads its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace returns the namespace of this pod, else the provider's default
// namespace.
func ownNamespace() string {
	if text, err := os.ReadFile(podNamespace); err == nil {
		return strings.TrimSpace(string(text))
	}
	return infrav1.DefaultNamespace
}

// restConfig returns how to reach the API server: by --kubeconfig, by
// KUBECONFIG, or as a pod.
func (c *commandLine) restConfig(p setting.Program) (*rest.Config, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, &setting.UsageError{
			Flag: "--kubeconfig", Text: fmt.Sprintf("cannot find an API server: %v", err),
			Hint: "Run the manager in a pod, or name a kubeconfig file by --kubeconfig or KUBECONFIG.",
		}
	}
	config.QPS, config.Burst = c.kubeQPS, c.kubeBurst
	config.UserAgent = "capi-bridge/" + p.Version
	return config, nil
}
