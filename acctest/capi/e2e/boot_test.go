package e2e

import (
	"context"
	"net/url"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// stopMachine makes a machine die. It returns a function that repairs the
// machine, if MAAS still has it.
func (l *lifeWorld) stopMachine(t *testing.T, m sim.Machine) (mend func()) {
	t.Helper()
	switch {
	case l.maas != nil:
		turn := func(state string) error {
			return l.maas.EditMachine(m.SystemID, sim.MachineEdit{PowerState: &state})
		}
		if err := turn("off"); err != nil {
			t.Fatal(err)
		}
		return func() { _ = turn("unknown") } // a VM is gone by then
	case l.settings.Drive.HasCommand():
		l.remote.setOff(m.SystemID, true)
		if l.isLent(m.SystemID) { // MAAS may be unable to turn it on again: its power may be manual
			t.Logf("left out: stop the guest of the lent machine %s; its node is silent anyway", m.Hostname)
			return func() { l.remote.setOff(m.SystemID, false) }
		}
		if _, err := l.settings.Drive.Run(t.Context(), realmaas.VerbOff, m.SystemID); err != nil {
			t.Logf("left out: stop the guest of %s: %v; its node is silent anyway", m.Hostname, err)
		}
		return func() { l.remote.setOff(m.SystemID, false) }
	default:
		if err := l.api.Operate(t.Context(), m.SystemID, "power_off", url.Values{"stop_mode": {"hard"}}); err != nil {
			t.Fatal(err)
		}
		return func() {} // its next deployment turns it on
	}
}

// applyCNI gives pods a network where machines really boot. Without one no node
// becomes Ready.
func (l *lifeWorld) applyCNI(c cluster) {
	c.t.Helper()
	if l.workloads != nil {
		return // simulated nodes need none
	}
	file := os.Getenv(cniVariable)
	if file == "" {
		c.t.Logf("%s names no manifest: the image must contain the network of the pods", cniVariable)
		return
	}
	objects, err := kubetest.ReadManifestFiles(file)
	if err != nil {
		c.t.Fatal(err)
	}
	waitFor(c.t, c.name+": the network of the pods is there", c.polling, func(ctx context.Context) string {
		inside, err := c.workloadClient(ctx)
		if err != nil {
			return err.Error()
		}
		if err := (&kubetest.ControlPlane{Client: inside}).Apply(ctx, objects...); err != nil {
			return err.Error()
		}
		return ""
	}, c.describe)
}

// workloadClient is a client of the cluster's own API server, where that is a
// real one.
func (c cluster) workloadClient(ctx context.Context) (client.Client, error) {
	kubeconfig := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: c.name, Name: c.name + "-kubeconfig"}, kubeconfig); err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig.Data["value"])
	if err != nil {
		return nil, err
	}
	config.Timeout = time.Minute
	return client.New(config, client.Options{})
}
