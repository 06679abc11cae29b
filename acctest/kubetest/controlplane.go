package kubetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
)

const (
	// loopback is the only address that anything listens on.
	loopback = "127.0.0.1"
	// startTimeout limits the start of the control plane. On an idle machine it
	// takes some three seconds.
	startTimeout = 2 * time.Minute
	// startTries is how often a start is tried: another program may take a port
	// in between.
	startTries = 3
)

// Options say what to start.
type Options struct {
	// Dir keeps etcd's data, keys, kubeconfigs and logs; it must exist.
	Dir string
	// ControllerManager starts a controller manager. It collects garbage, ends
	// namespaces, makes their default service accounts and aggregates roles.
	// Without it, objects stay when their owner goes, and namespaces stay
	// Terminating. Managers then have no rights by aggregated roles, which
	// Cluster API's own managers need.
	ControllerManager bool
	// Log gets a line for each start, with the time that it took.
	Log io.Writer
}

// programs are the programs of the control plane.
func (o Options) programs() []string {
	wanted := []string{programs.Etcd, programs.KubeAPIServer}
	if o.ControllerManager {
		wanted = append(wanted, programs.KubeControllerManager)
	}
	return wanted
}

// ControlPlane is a Kubernetes without nodes.
type ControlPlane struct {
	// Config is an administrator's, without a rate limit.
	Config *rest.Config
	// Client reads and writes as that administrator. It knows Kubernetes' own
	// kinds and CustomResourceDefinitions.
	Client client.Client
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// Dir is the folder of the options.
	Dir string
	// Authority signs the certificates that the API server trusts.
	Authority *Authority

	builder   *programs.Builder
	log       io.Writer
	bin       programs.Bin
	processes []*Process // in the order of their start
	// webhookPorts are the ports on which managers serve their webhooks, by
	// namespace.
	webhookPorts map[string]int
}

// StartControlPlane builds the missing programs, and starts a control plane.
// The programs run until Stop; ctx limits only the start.
func StartControlPlane(ctx context.Context, builder *programs.Builder, o Options) (*ControlPlane, error) {
	bin, err := builder.Build(ctx, o.programs()...)
	if err != nil {
		return nil, err
	}
	authority, err := NewAuthority()
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{Dir: o.Dir, Authority: authority, builder: builder, log: o.Log, bin: bin, webhookPorts: map[string]int{}}
	began := time.Now()
	if err := c.startWithRetries(ctx, o); err != nil {
		c.Stop()
		return nil, err
	}
	c.logf("control plane at %s is up after %s", c.Config.Host, time.Since(began).Round(10*time.Millisecond))
	return c, nil
}

// startWithRetries tries again where another program has taken a port.
func (c *ControlPlane) startWithRetries(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var failed error
	for range startTries {
		err := c.startServers(ctx, o.ControllerManager)
		if err == nil {
			return nil
		}
		failed = errors.Join(failed, err)
		c.Stop()
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// startServers starts etcd, the API server and the controller manager once.
func (c *ControlPlane) startServers(ctx context.Context, withControllers bool) error {
	ports, err := freeport.Ports(3)
	if err != nil {
		return err
	}
	data, err := os.MkdirTemp(c.Dir, "etcd-")
	if err != nil {
		return err
	}
	etcd, err := serverStarter{c}.startEtcd(ctx, data, ports[0], ports[1])
	if err != nil {
		return err
	}
	if err := c.setUpAdministrator(ports[2]); err != nil {
		return err
	}
	if err := (serverStarter{c}).startAPIServer(ctx, etcd, ports[2]); err != nil || !withControllers {
		return err
	}
	return serverStarter{c}.startControllerManager(ctx)
}

// setUpAdministrator makes the kubeconfig, the configuration and the client for
// the API server on that port.
func (c *ControlPlane) setUpAdministrator(port int) error {
	pair, err := c.Authority.ClientKeyPair("kubetest-admin", "system:masters")
	if err != nil {
		return err
	}
	server := fmt.Sprintf("https://%s:%d", loopback, port)
	c.Config = &rest.Config{
		Host: server, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.Authority.PEM, CertData: pair.Cert, KeyData: pair.Key},
	}
	c.Kubeconfig = filepath.Join(c.Dir, "admin.kubeconfig")
	return writeKubeconfig(c.Kubeconfig, c.Config)
}

// newClient makes a client of the API server, which must run.
func newClient(config *rest.Config) (client.Client, error) {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(kinds); err != nil {
			return nil, err
		}
	}
	return client.New(config, client.Options{Scheme: kinds})
}

// trackProcess makes the process end with the control plane.
func (c *ControlPlane) trackProcess(p *Process) { c.processes = append(c.processes, p) }

// Stop ends all programs, the last first, and waits for them. It reports the
// programs that had ended before: their clients saw refused connections.
func (c *ControlPlane) Stop() {
	for _, p := range c.processes {
		if err := p.CrashError(); err != nil {
			c.logf("%v", err)
		}
	}
	for len(c.processes) > 0 {
		last := len(c.processes) - 1
		c.processes[last].Stop()
		c.processes = c.processes[:last]
	}
}

// logf writes a line for people.
func (c *ControlPlane) logf(format string, args ...any) {
	if c.log != nil {
		fmt.Fprintf(c.log, "kubetest: "+format+"\n", args...)
	}
}
