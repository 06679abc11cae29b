package kubetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

const (
	// fieldOwner is the field manager of everything that this package applies.
	fieldOwner = client.FieldOwner("kubetest")
	// establishTimeout limits how long new kinds may take to be served. On an
	// idle machine each takes under a second.
	establishTimeout = time.Minute

	crdKind = "CustomResourceDefinition"
)

// ReadManifests reads the objects of YAML documents.
func ReadManifests(text []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// ReadManifestFiles reads the objects of all the files.
func ReadManifestFiles(files ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		read, err := ReadManifests(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, read...)
	}
	return objects, nil
}

// Apply applies the objects in this order, server-side.
func (c *ControlPlane) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), fieldOwner, client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("cannot apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// InstallCRDs applies the definitions among the objects, waits until their
// kinds are served, and returns their number. Versions are not converted,
// because no conversion webhook runs.
func (c *ControlPlane) InstallCRDs(ctx context.Context, objects ...*unstructured.Unstructured) (int, error) {
	var names []string
	for _, object := range objects {
		if object.GetKind() != crdKind {
			continue
		}
		object = object.DeepCopy()
		unstructured.RemoveNestedField(object.Object, "spec", "conversion")
		if err := c.Apply(ctx, object); err != nil {
			return 0, err
		}
		names = append(names, object.GetName())
	}
	return len(names), c.awaitEstablished(ctx, names)
}

// awaitKinds waits until the kinds of all definitions are served.
func (c *ControlPlane) awaitKinds(ctx context.Context) error {
	all := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.Client.List(ctx, all); err != nil {
		return err
	}
	var names []string
	for _, crd := range all.Items {
		names = append(names, crd.Name)
	}
	return c.awaitEstablished(ctx, names)
}

// awaitEstablished waits until the kinds of the definitions are served.
func (c *ControlPlane) awaitEstablished(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	for _, name := range names {
		for !c.isEstablished(ctx, name) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s is not served: %w", name, ctx.Err())
			case <-time.After(readyPollInterval):
			}
		}
	}
	return nil
}

// isEstablished reports whether the definition's kinds are served. Without an
// answer of the API server it is false.
func (c *ControlPlane) isEstablished(ctx context.Context, name string) bool {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
		return false
	}
	accepted := slices.ContainsFunc(crd.Status.Conditions, func(condition apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue
	})
	return accepted && c.isDiscoverable(crd)
}

// isDiscoverable reports whether clients find all served versions of a
// definition. The API server lists them a moment after it calls them
// established.
func (c *ControlPlane) isDiscoverable(crd *apiextensionsv1.CustomResourceDefinition) bool {
	kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
	return !slices.ContainsFunc(crd.Spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
		if !version.Served {
			return false
		}
		_, err := c.Client.RESTMapper().RESTMapping(kind, version.Name)
		return err != nil
	})
}

// InstallCAPIKinds installs the kinds of Cluster API's core, bootstrap and
// control plane providers, as its release defines them. It leaves out their
// managers and webhooks, which tests of controllers do not need.
func (c *ControlPlane) InstallCAPIKinds(ctx context.Context) error {
	began := time.Now()
	repository, err := c.builder.WriteRepository(ctx)
	if err != nil {
		return err
	}
	var files []string
	for _, component := range programs.Components {
		files = append(files, repository.File(component))
	}
	objects, err := ReadManifestFiles(files...)
	if err != nil {
		return err
	}
	installed, err := c.InstallCRDs(ctx, objects...)
	if err != nil {
		return err
	}
	c.logf("installed %d kinds of Cluster API in %s", installed, time.Since(began).Round(10*time.Millisecond))
	return nil
}
