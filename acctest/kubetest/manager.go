package kubetest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
)

// managerTimeout limits how long a manager may take to be ready. On an idle
// machine it takes under a second.
const managerTimeout = 2 * time.Minute

// managerContainer is the container that clusterctl's contract names.
const managerContainer = "manager"

// Manager names a Deployment that runs as a process, and the program for it.
type Manager struct {
	Program    string // path of the binary
	Namespace  string
	Deployment string
	Args       []string // they follow the Deployment's arguments
	Env        []string // it follows the Deployment's environment

	// Elects lets the manager elect a leader if its arguments say so, as in a
	// pod. That needs a manager that takes its namespace from its environment.
	// Others read it from a file that only pods have; they get an argument that
	// turns the election off.
	Elects bool
}

// noPodArgs are the arguments that a manager needs outside of a pod.
func (m Manager) noPodArgs() []string {
	if m.Elects {
		return nil
	}
	return []string{"--leader-elect=false"}
}

// RunningManager is a manager that is ready to serve.
type RunningManager struct {
	*Process
	Args        []string // of the Deployment and of Manager
	Health      string   // URL, without a path
	Diagnostics string   // host:port; TLS unless the arguments say otherwise
}

// RunManager runs the program of a Deployment, with its arguments, its
// environment and the rights of its service account. It reads all of them from
// the cluster. Volumes are folders, which stay for the manager's next run. The
// folder of a claim is emptied when the claim is new. Calls of the API server
// to the namespace's services go to the process.
//
// Three things differ from a pod. The manager listens on free ports of
// 127.0.0.1. It elects no leader unless Elects is set. It runs as the user of
// this process, and sees its files.
func (c *ControlPlane) RunManager(ctx context.Context, m Manager) (*RunningManager, error) {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: m.Namespace, Name: m.Deployment}
	if err := c.Client.Get(ctx, key, deployment); err != nil {
		return nil, fmt.Errorf("cannot run deployment %s: %w", key, err)
	}
	pod := deployment.Spec.Template.Spec
	at := slices.IndexFunc(pod.Containers, func(container corev1.Container) bool { return container.Name == managerContainer })
	if at < 0 {
		return nil, fmt.Errorf("deployment %s has no container %q", key, managerContainer)
	}
	running, err := c.runContainer(ctx, m, pod, pod.Containers[at])
	if err != nil {
		return nil, fmt.Errorf("cannot run deployment %s: %w", key, err)
	}
	return running, nil
}

// runContainer starts the process, and waits until it is ready.
func (c *ControlPlane) runContainer(ctx context.Context, m Manager, pod corev1.PodSpec, container corev1.Container) (*RunningManager, error) {
	ctx, cancel := context.WithTimeout(ctx, managerTimeout)
	defer cancel()
	began := time.Now()
	home := filepath.Join(c.Dir, m.Deployment)
	moved, err := podRunner{c}.mountVolumes(ctx, m.Namespace, home, pod.Volumes, container.VolumeMounts)
	if err != nil {
		return nil, err
	}
	env, err := podRunner{c}.containerEnvironment(ctx, m, pod, container.Env)
	if err != nil {
		return nil, err
	}
	ports, err := freeport.Ports(2)
	if err != nil {
		return nil, err
	}
	webhooks, err := c.webhookPort(ctx, m.Namespace)
	if err != nil {
		return nil, err
	}
	r := c.newRunningManager(m, container, env, ports, webhooks)
	cmd := exec.Command(m.Program, moved.replacePaths(r.Args)...)
	cmd.Dir, cmd.Env = home, append(moved.replacePaths(env), m.Env...)
	if r.Process, err = StartProcess(c.Dir, m.Deployment, cmd); err != nil {
		return nil, err
	}
	c.trackProcess(r.Process)
	if err := r.AwaitReady(ctx, func(ctx context.Context) error { return checkAnswersOK(ctx, http.DefaultClient, r.Health+"/readyz") }); err != nil {
		r.Kill()
		return nil, err
	}
	c.logf("%s is ready after %s", m.Deployment, time.Since(began).Round(10*time.Millisecond))
	return r, nil
}

// newRunningManager is the manager before its start, with its addresses and its
// arguments.
func (c *ControlPlane) newRunningManager(m Manager, container corev1.Container, env []string, ports []int, webhooks int) *RunningManager {
	return &RunningManager{
		Health:      fmt.Sprintf("http://%s:%d", loopback, ports[0]),
		Diagnostics: fmt.Sprintf("%s:%d", loopback, ports[1]),
		Args: slices.Concat(expandArgs(container.Args, env), m.noPodArgs(), []string{
			fmt.Sprintf("--health-addr=%s:%d", loopback, ports[0]),
			fmt.Sprintf("--diagnostics-address=%s:%d", loopback, ports[1]),
			fmt.Sprintf("--webhook-port=%d", webhooks),
			"--webhook-cert-dir=" + filepath.Join(c.Dir, webhookCerts),
		}, m.Args),
	}
}

// Leader is the holder of the lease by which managers elect a leader. It is
// empty where nobody holds it.
func (c *ControlPlane) Leader(ctx context.Context, lease client.ObjectKey) (string, error) {
	found := &coordinationv1.Lease{}
	if err := c.Client.Get(ctx, lease, found); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("cannot read lease %s: %w", lease, err)
	}
	return ptr.Deref(found.Spec.HolderIdentity, ""), nil
}

// webhookCerts is the folder with the certificate that all webhooks use.
const webhookCerts = "webhook-certs"

// webhookPort is where the manager of a namespace serves its webhooks. The port
// stays the same for its next run. The API server is told at each start,
// because another release has other webhooks.
func (c *ControlPlane) webhookPort(ctx context.Context, namespace string) (int, error) {
	port, known := c.webhookPorts[namespace]
	if !known {
		ports, err := freeport.Ports(1)
		if err != nil {
			return 0, err
		}
		if err := c.WriteWebhookCerts(filepath.Join(c.Dir, webhookCerts)); err != nil {
			return 0, err
		}
		port = ports[0]
		c.webhookPorts[namespace] = port
	}
	_, err := c.PointWebhooks(ctx, namespace, port)
	return port, err
}

// WriteWebhookCerts writes tls.crt and tls.key into the folder. The API server
// trusts them for a webhook server on 127.0.0.1.
func (c *ControlPlane) WriteWebhookCerts(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pair, err := c.Authority.ServerKeyPair()
	if err != nil {
		return err
	}
	_, _, err = pair.writeFiles(dir, "tls")
	return err
}

// RunCAPI runs Cluster API's core, bootstrap and control plane managers, after
// [Clusterctl.Init] has installed them. env is added to their environment. They
// have rights only where a controller manager runs.
func (c *ControlPlane) RunCAPI(ctx context.Context, env ...string) ([]*RunningManager, error) {
	var running []*RunningManager
	for _, component := range programs.Components {
		manager, err := c.RunComponent(ctx, component, env...)
		if err != nil {
			return nil, err
		}
		running = append(running, manager)
	}
	return running, nil
}

// RunComponent runs one of Cluster API's managers, for the first time or
// again after it has ended.
func (c *ControlPlane) RunComponent(ctx context.Context, component programs.Component, env ...string) (*RunningManager, error) {
	bin, err := c.builder.Build(ctx, component.Program)
	if err != nil {
		return nil, err
	}
	return c.RunManager(ctx, Manager{
		Program:   bin.Path(component.Program),
		Namespace: component.Namespace, Deployment: component.Manager, Env: env,
	})
}
