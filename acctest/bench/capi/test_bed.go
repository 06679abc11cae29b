package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
)

// program and deployment name the bridge's binary and its Deployment.
const (
	program    = "capi-bridge"
	deployment = "capmaas-controller-manager"
)

// testBed is an API server with the bridge's manager, and the MAAS that it works
// on.
type testBed struct {
	client       client.Client
	maas         *sim.Server
	controlPlane *kubetest.ControlPlane
	manager      *kubetest.RunningManager
	core         *fakeCore

	stopCore context.CancelFunc // ends core
	folder   string
}

// newTestBed starts all parts. Where the start fails, the error shows the end
// of the manager's log.
func newTestBed(ctx context.Context, builder *programs.Builder, o options, model sim.Model, log io.Writer) (*testBed, error) {
	folder, err := os.MkdirTemp("", "bench-capi-")
	if err != nil {
		return nil, err
	}
	w := &testBed{folder: folder}
	if err := w.start(ctx, builder, o, model, log); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *testBed) start(ctx context.Context, builder *programs.Builder, o options, model sim.Model, log io.Writer) error {
	simulated, err := sim.New(model)
	if err != nil {
		return err
	}
	if w.maas, err = sim.ServeAt(simulated, "127.0.0.1:0"); err != nil {
		simulated.Close()
		return err
	}
	if w.controlPlane, err = kubetest.StartControlPlane(ctx, builder, kubetest.Options{Dir: w.folder, Log: log}); err != nil {
		return err
	}
	if err := w.install(ctx, o.components); err != nil {
		return err
	}
	bridge, err := filepath.Abs(filepath.Join(o.bin, program))
	if err != nil {
		return err
	}
	if w.manager, err = w.controlPlane.RunManager(ctx, kubetest.Manager{
		Program: bridge, Namespace: infrav1.DefaultNamespace, Deployment: deployment, Elects: true,
	}); err != nil {
		return err
	}
	return w.startCore(ctx)
}

// startCore starts what Cluster API's core does.
func (w *testBed) startCore(ctx context.Context) error {
	ctx, w.stopCore = context.WithCancel(ctx)
	w.core = newFakeCore(w.client)
	return w.core.start(ctx, w.controlPlane.Config, w.client.Scheme())
}

// install installs what a release ships, and the credentials for the MAAS.
func (w *testBed) install(ctx context.Context, components string) error {
	scheme, err := manager.Scheme()
	if err != nil {
		return err
	}
	if w.client, err = client.New(w.controlPlane.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	objects, err := readComponents(components)
	if err != nil {
		return fmt.Errorf("%w; run make manifests, or name the file with -components", err)
	}
	if err := w.controlPlane.InstallCAPIKinds(ctx); err != nil {
		return err
	}
	if _, err := w.controlPlane.InstallCRDs(ctx, objects...); err != nil {
		return err
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition", "Certificate", "Issuer": // installed above, or cert-manager's
			continue
		}
		if err := w.controlPlane.Apply(ctx, object); err != nil {
			return err
		}
	}
	return w.createCredentials(ctx)
}

// readComponents reads the manifests and puts in the defaults of their
// variables.
func readComponents(file string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text, err = yamlprocessor.NewSimpleProcessor().Process(text, func(string) (string, error) { return "", os.ErrNotExist })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return kubetest.ReadManifests(text)
}

// createCredentials makes the manager's own Secret, which all clusters share.
func (w *testBed) createCredentials(ctx context.Context) error {
	in := metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace}
	secret := &corev1.Secret{ObjectMeta: in, StringData: map[string]string{infrav1.CredentialsKey: w.maas.APIKey()}}
	config := &corev1.ConfigMap{ObjectMeta: in, Data: map[string]string{infrav1.EndpointKey: w.maas.URL}}
	secret.Name, config.Name = infrav1.CredentialsSecret, infrav1.EndpointConfigMap
	return errors.Join(w.client.Create(ctx, secret), w.client.Create(ctx, config))
}

// close stops the processes and removes their files.
func (w *testBed) close() {
	if w.stopCore != nil {
		w.stopCore()
	}
	if w.controlPlane != nil {
		w.controlPlane.Stop()
	}
	if w.maas != nil {
		_ = w.maas.Stop() // it is gone either way
	}
	_ = os.RemoveAll(w.folder)
}

// withManagerLog adds the end of the manager's log to an error.
func (w *testBed) withManagerLog(err error) error {
	return fmt.Errorf("%w; the manager's log ends with:\n%s", err, w.manager.Tail())
}
