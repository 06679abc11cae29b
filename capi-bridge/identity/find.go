package identity

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
)

// Names of further values in a ConfigMap or in the environment.
const (
	caBundleKey = "caBundle"
	envCABundle = "MAAS_API_CACERT"
)

// Finder reads credentials from the API server on each call.
type Finder struct {
	// Reader must not be a cache: a cache lists and watches what it reads.
	Reader client.Reader
	// Namespace is the manager's.
	Namespace string
	// Getenv reads the environment; nil: there is none.
	Getenv func(string) string
	// AllowTakeOver is what the manager's own credentials allow: see Credentials.
	AllowTakeOver bool
	// DefaultNamespaces are the namespaces whose clusters may use the manager's
	// own credentials; none: all may.
	DefaultNamespaces []string
}

// Find returns the credentials for a cluster in a namespace. ref is its
// identity, or nil. Missing, denied or malformed credentials are a
// *controller.CredentialsError; other errors come from the API server.
func (f Finder) Find(ctx context.Context, ref *infrav1.MaasIdentityReference, namespace string) (Credentials, error) {
	switch {
	case ref != nil && ref.Kind == infrav1.IdentityKindSecret:
		return f.readTenantSecret(ctx, ref.Name, namespace)
	case ref != nil:
		return f.readIdentity(ctx, ref.Name, namespace)
	case len(f.DefaultNamespaces) > 0 && !slices.Contains(f.DefaultNamespaces, namespace):
		return Credentials{}, deniedError("Name a MaasClusterIdentity, or a Secret of the namespace, in spec.identityRef; or let the administrator add the namespace to --default-credentials-namespaces.",
			"clusters of the namespace %s may not use the manager's own credentials", namespace)
	}
	for _, look := range []func(context.Context) (Credentials, bool, error){f.readManagerCredentials, f.readBootstrapSecret, f.readEnvironment} {
		if found, ok, err := look(ctx); ok || err != nil {
			found.AllowTakeOver = f.AllowTakeOver
			return found, err
		}
	}
	return Credentials{}, missingCredentialsError(
		"Create the Secret "+infrav1.CredentialsSecret+" (key "+infrav1.CredentialsKey+") and the ConfigMap "+infrav1.EndpointConfigMap+
			" (key "+infrav1.EndpointKey+") there, or name a MaasClusterIdentity in spec.identityRef.",
		"there are no credentials of a MAAS in the namespace %s", f.Namespace)
}

// readIdentity reads a MaasClusterIdentity and its Secret.
func (f Finder) readIdentity(ctx context.Context, name, namespace string) (Credentials, error) {
	var id infrav1.MaasClusterIdentity
	found, err := f.readObject(ctx, "MaasClusterIdentity", client.ObjectKey{Name: name}, &id)
	switch {
	case err != nil:
		return Credentials{}, err
	case !found:
		return Credentials{}, &controller.CredentialsError{
			Reason: infrav1.IdentityNotFoundReason, Message: "there is no MaasClusterIdentity " + name,
			Hint: "Create it, or leave out spec.identityRef to use the manager's own MAAS.",
		}
	}
	if err := f.checkNamespaceAllowed(ctx, &id, namespace); err != nil {
		return Credentials{}, err
	}
	if elsewhere := id.Spec.SecretRef.Namespace; elsewhere != "" && elsewhere != f.Namespace {
		return Credentials{}, deniedError("Create that Secret in the namespace "+f.Namespace+", and leave out spec.secretRef.namespace.",
			"the MaasClusterIdentity %s names a Secret of the namespace %s, but only Secrets of the manager's namespace are allowed", name, elsewhere)
	}
	key := client.ObjectKey{Namespace: f.Namespace, Name: id.Spec.SecretRef.Name}
	secret, from, err := f.readSecret(ctx, key)
	switch {
	case err != nil:
		return Credentials{}, err
	case secret == nil:
		return Credentials{}, missingCredentialsError("Create it with MAAS's API key under "+infrav1.CredentialsKey+".", "there is no %s, which the MaasClusterIdentity %s names", from, name)
	}
	c := Credentials{
		Endpoint: id.Spec.Endpoint, EndpointFrom: "MaasClusterIdentity " + name + ", spec.endpoint",
		APIKey: trimmedValue(secret.Data[infrav1.CredentialsKey]), KeyFrom: from, CABundle: id.Spec.CABundle,
		AllowTakeOver: id.Spec.AllowTakeOver, Limits: id.Spec.Limits,
	}
	return c, c.checkComplete(infrav1.EndpointKey, infrav1.CredentialsKey)
}

// readTenantSecret reads a Secret of the cluster's own namespace, in which a
// tenant names its own MAAS.
func (f Finder) readTenantSecret(ctx context.Context, name, namespace string) (Credentials, error) {
	secret, from, err := f.readSecret(ctx, client.ObjectKey{Namespace: namespace, Name: name})
	switch {
	case err != nil:
		return Credentials{}, err
	case secret == nil:
		return Credentials{}, missingCredentialsError("Create it with MAAS's address under "+infrav1.EndpointKey+" and its API key under "+infrav1.CredentialsKey+".",
			"there is no %s, which spec.identityRef names", from)
	}
	c := Credentials{
		Endpoint: trimmedValue(secret.Data[infrav1.EndpointKey]), EndpointFrom: from, APIKey: trimmedValue(secret.Data[infrav1.CredentialsKey]), KeyFrom: from,
		CABundle: string(secret.Data[caBundleKey]), OfTenant: true,
	}
	return c, c.checkComplete(infrav1.EndpointKey, infrav1.CredentialsKey)
}

// readManagerCredentials reads the manager's own Secret and ConfigMap.
func (f Finder) readManagerCredentials(ctx context.Context) (Credentials, bool, error) {
	secret, keyFrom, err := f.readSecret(ctx, client.ObjectKey{Namespace: f.Namespace, Name: infrav1.CredentialsSecret})
	if err != nil {
		return Credentials{}, false, err
	}
	var config corev1.ConfigMap
	key := client.ObjectKey{Namespace: f.Namespace, Name: infrav1.EndpointConfigMap}
	found, err := f.readObject(ctx, "ConfigMap", key, &config)
	if err != nil || secret == nil && !found {
		return Credentials{}, false, err
	}
	c := Credentials{
		Endpoint: strings.TrimSpace(config.Data[infrav1.EndpointKey]), EndpointFrom: "ConfigMap " + key.String(),
		CABundle: config.Data[caBundleKey], KeyFrom: keyFrom,
	}
	if secret != nil {
		c.APIKey = trimmedValue(secret.Data[infrav1.CredentialsKey])
	}
	return c, true, c.checkComplete(infrav1.EndpointKey, infrav1.CredentialsKey)
}

// readBootstrapSecret reads the Secret that an earlier provider was installed
// with.
func (f Finder) readBootstrapSecret(ctx context.Context) (Credentials, bool, error) {
	secret, from, err := f.readSecret(ctx, client.ObjectKey{Namespace: f.Namespace, Name: infrav1.BootstrapSecret})
	if err != nil || secret == nil {
		return Credentials{}, false, err
	}
	c := Credentials{
		Endpoint: trimmedValue(secret.Data[infrav1.BootstrapSecretEndpointKey]), EndpointFrom: from,
		APIKey: trimmedValue(secret.Data[infrav1.BootstrapSecretAPIKeyKey]), KeyFrom: from,
	}
	return c, true, c.checkComplete(infrav1.BootstrapSecretEndpointKey, infrav1.BootstrapSecretAPIKeyKey)
}

// readEnvironment reads the manager's environment. Each of the two values has
// two names.
func (f Finder) readEnvironment(context.Context) (Credentials, bool, error) {
	if f.Getenv == nil {
		return Credentials{}, false, nil
	}
	c := Credentials{
		Endpoint: cmp.Or(f.Getenv("MAAS_ENDPOINT"), f.Getenv("MAAS_API_URL")), EndpointFrom: "the manager's environment",
		APIKey: cmp.Or(f.Getenv("MAAS_API_KEY"), f.Getenv("MAAS_API_TOKEN")), KeyFrom: "the manager's environment",
	}
	if c.Endpoint == "" && c.APIKey == "" {
		return Credentials{}, false, nil
	}
	var err error
	if c.CABundle, err = readPEM(f.Getenv(envCABundle)); err != nil {
		return Credentials{}, false, unusableError("Give PEM text, or the path of a file with it.", "%s in the manager's environment is neither PEM text nor the path of a file that can be read", envCABundle)
	}
	return c, true, c.checkComplete("MAAS_ENDPOINT", "MAAS_API_KEY")
}

// checkComplete refuses credentials with only one half.
func (c Credentials) checkComplete(endpointKey, keyKey string) error {
	switch {
	case c.Endpoint == "":
		return missingCredentialsError("Set "+endpointKey+" to MAAS's address, such as https://maas.example:5443/MAAS.", "%s has no %s", c.EndpointFrom, endpointKey)
	case c.APIKey == "":
		return missingCredentialsError("Set "+keyKey+" to the API key of an administrator of MAAS.", "%s has no %s", c.KeyFrom, keyKey)
	}
	return nil
}

// readSecret reads a Secret, and returns its title for messages. A missing
// Secret is nil.
func (f Finder) readSecret(ctx context.Context, key client.ObjectKey) (*corev1.Secret, string, error) {
	var secret corev1.Secret
	found, err := f.readObject(ctx, "Secret", key, &secret)
	if err != nil || !found {
		return nil, "Secret " + key.String(), err
	}
	return &secret, "Secret " + key.String(), nil
}

// readObject reads an object and reports whether it exists. If the manager may
// not read it, the error is a *controller.CredentialsError.
func (f Finder) readObject(ctx context.Context, kind string, key client.ObjectKey, into client.Object) (bool, error) {
	err := f.Reader.Get(ctx, key, into)
	name := strings.TrimPrefix(key.String(), "/")
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return false, missingCredentialsError("Give the manager's service account a role with the verb get for this object.", "the manager may not read the %s %s", kind, name)
	}
	return false, err
}

// trimmedValue returns a Secret's value without the line end that files have.
func trimmedValue(value []byte) string { return strings.TrimSpace(string(value)) }

func readPEM(given string) (string, error) {
	if given == "" || strings.Contains(given, "-----BEGIN") {
		return given, nil
	}
	data, err := os.ReadFile(given)
	return string(data), err
}
