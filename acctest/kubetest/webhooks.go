package kubetest

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PointWebhooks redirects calls of the API server to the services in a
// namespace to a port of 127.0.0.1. The API server then trusts the Authority's
// certificate there. It changes webhooks and conversions of installed
// manifests, and returns how many.
func (c *ControlPlane) PointWebhooks(ctx context.Context, namespace string, port int) (int, error) {
	to := webhookTarget{namespace: namespace, url: fmt.Sprintf("https://%s:%d", loopback, port), ca: c.Authority.PEM}
	mutating, err := c.pointMutating(ctx, to)
	if err != nil {
		return 0, err
	}
	validating, err := c.pointValidating(ctx, to)
	if err != nil {
		return 0, err
	}
	conversions, err := c.pointConversions(ctx, to)
	return mutating + validating + conversions, err
}

// InstallWebhooks applies the webhook configurations among the objects, and
// returns how many webhooks they have. All of their services stand for one port
// of 127.0.0.1. It is for a manager that runs in the test itself.
func (c *ControlPlane) InstallWebhooks(ctx context.Context, port int, objects ...*unstructured.Unstructured) (int, error) {
	namespaces := map[string]bool{}
	for _, object := range objects {
		hooks, found, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil || !found {
			continue
		}
		for _, hook := range hooks {
			namespace, _, err := unstructured.NestedString(hook.(map[string]any), "clientConfig", "service", "namespace")
			if err != nil {
				return 0, err
			}
			namespaces[namespace] = true
		}
		if err := c.Apply(ctx, object); err != nil {
			return 0, err
		}
	}
	installed := 0
	for namespace := range namespaces {
		n, err := c.PointWebhooks(ctx, namespace, port)
		if err != nil {
			return 0, err
		}
		installed += n
	}
	return installed, nil
}

// webhookTarget is where calls to a namespace's services really go.
type webhookTarget struct {
	namespace string
	url       string // without a path
	ca        []byte
}

// redirect changes the address of a webhook, if the webhook is of the
// namespace.
func (t webhookTarget) redirect(c *admissionv1.WebhookClientConfig) bool {
	if c.Service == nil || c.Service.Namespace != t.namespace {
		return false
	}
	url := t.url
	if c.Service.Path != nil {
		url += *c.Service.Path
	}
	c.URL, c.Service, c.CABundle = &url, nil, t.ca
	return true
}

func (c *ControlPlane) pointMutating(ctx context.Context, to webhookTarget) (pointed int, err error) {
	list := &admissionv1.MutatingWebhookConfigurationList{}
	if err := c.Client.List(ctx, list); err != nil {
		return 0, err
	}
	for i := range list.Items {
		taken := 0
		for j := range list.Items[i].Webhooks {
			if to.redirect(&list.Items[i].Webhooks[j].ClientConfig) {
				taken++
			}
		}
		if err := c.updateIfChanged(ctx, taken > 0, &list.Items[i]); err != nil {
			return 0, err
		}
		pointed += taken
	}
	return pointed, nil
}

func (c *ControlPlane) pointValidating(ctx context.Context, to webhookTarget) (pointed int, err error) {
	list := &admissionv1.ValidatingWebhookConfigurationList{}
	if err := c.Client.List(ctx, list); err != nil {
		return 0, err
	}
	for i := range list.Items {
		taken := 0
		for j := range list.Items[i].Webhooks {
			if to.redirect(&list.Items[i].Webhooks[j].ClientConfig) {
				taken++
			}
		}
		if err := c.updateIfChanged(ctx, taken > 0, &list.Items[i]); err != nil {
			return 0, err
		}
		pointed += taken
	}
	return pointed, nil
}

func (c *ControlPlane) pointConversions(ctx context.Context, to webhookTarget) (pointed int, err error) {
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.Client.List(ctx, list); err != nil {
		return 0, err
	}
	for i := range list.Items {
		conversion := list.Items[i].Spec.Conversion
		if conversion == nil || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil {
			continue
		}
		service := conversion.Webhook.ClientConfig.Service
		if service == nil || service.Namespace != to.namespace {
			continue
		}
		url := to.url
		if service.Path != nil {
			url += *service.Path
		}
		conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: to.ca}
		if err := c.updateIfChanged(ctx, true, &list.Items[i]); err != nil {
			return 0, err
		}
		pointed++
	}
	return pointed, nil
}

// updateIfChanged writes an object to the API server if it changed.
func (c *ControlPlane) updateIfChanged(ctx context.Context, changed bool, object client.Object) error {
	if !changed {
		return nil
	}
	if err := c.Client.Update(ctx, object, fieldOwner); err != nil {
		return fmt.Errorf("cannot point %s elsewhere: %w", object.GetName(), err)
	}
	return nil
}
