package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// lxdCertificate is the engine's name for the pair.
const lxdCertificate = "lxd_client_cert"

// lxdKeyPair is the fleet's key pair. Most requests to MAAS need none. A step
// that needs it fails with missingError.
type lxdKeyPair struct {
	engine.Credentials
	missingError error // why the pair is missing, an *engine.SpecError; nil: it is there
}

// digestParts identify a pair, or the reason for which there is none.
func (p lxdKeyPair) digestParts() []string {
	if p.missingError != nil {
		return []string{p.missingError.Error()}
	}
	return []string{p.Certificate, p.Key}
}

// missingKeyPair returns a pair that is missing, with the reason.
func missingKeyPair(message, hint string) lxdKeyPair {
	return lxdKeyPair{missingError: &engine.SpecError{Field: fieldpath.New(lxdCertificate), Message: message, Hint: hint, Err: engine.ErrInvalid}}
}

// readKeyPair returns the fleet's pair, or the reason why there is no usable
// one. The error says that this could not be found out, as when the API server
// does not answer.
func (s *Sites) readKeyPair(ctx context.Context) (lxdKeyPair, error) {
	key, err := s.loadOrCreateFleetKey(ctx)
	lacks, about := errors.AsType[*controller.CredentialsError](err)
	switch {
	case about:
		return missingKeyPair(lacks.Message, lacks.Hint), nil
	case err != nil:
		return lxdKeyPair{}, err
	case key.Certificate == "":
		return missingKeyPair("there is no key pair by which LXD servers know this manager",
			"Create the Secret "+s.LXDKeySecret+" of the type kubernetes.io/tls in the manager's namespace."), nil
	}
	return lxdKeyPair{Credentials: key}, nil
}

// loadOrCreateFleetKey returns the key pair by which LXD knows this fleet: that
// of the Secret, or the one beside the ledger, or a new one. It stores a pair
// from elsewhere in the Secret. If the manager may not create the Secret and
// there is no ledger file, there is no pair. Then no LXD can be asked, and no
// host made.
func (s *Sites) loadOrCreateFleetKey(ctx context.Context) (engine.Credentials, error) {
	at := client.ObjectKey{Namespace: s.Finder.Namespace, Name: s.LXDKeySecret}
	secret, from, err := s.Finder.readSecret(ctx, at)
	switch {
	case err != nil:
		return engine.Credentials{}, err
	case secret != nil:
		return parseKeySecret(secret, from)
	case s.Folder == "" && s.KeyWriter == nil:
		return engine.Credentials{}, nil
	case s.Folder == "":
		made, err := fleetkey.New(time.Now())
		if err != nil {
			return engine.Credentials{}, err
		}
		return s.storeFleetKey(ctx, at, made.Credentials)
	}
	key, err := fleetkey.LoadOrCreate(filepath.Join(s.Folder, fleetkey.KeyFile), time.Now())
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		return engine.Credentials{}, unusableError(refusal.Hint, "%v", refusal)
	}
	if err != nil || s.KeyWriter == nil {
		return key.Credentials, err
	}
	return s.storeFleetKey(ctx, at, key.Credentials)
}

// storeFleetKey creates the Secret before any host trusts the pair. clusterctl
// deletes the ledger's volume with the rest of a release, and keeps objects
// without the release's label. If somebody created the Secret meanwhile, its
// pair counts.
func (s *Sites) storeFleetKey(ctx context.Context, at client.ObjectKey, pair engine.Credentials) (engine.Credentials, error) {
	err := s.KeyWriter.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: []byte(pair.Certificate), corev1.TLSPrivateKeyKey: []byte(pair.Key)},
	})
	switch {
	case apierrors.IsAlreadyExists(err):
		secret, from, err := s.Finder.readSecret(ctx, at)
		if err != nil || secret == nil {
			return engine.Credentials{}, cmp.Or(err, fmt.Errorf("the %s was deleted while it was read", from))
		}
		return parseKeySecret(secret, from)
	case apierrors.IsForbidden(err):
		return engine.Credentials{}, missingCredentialsError("Give the manager's service account a role with the verb create for Secrets in that namespace, or create the Secret.",
			"the manager may not create the Secret %s for the LXD key pair", at)
	case err != nil:
		return engine.Credentials{}, fmt.Errorf("cannot store the key pair for LXD in the Secret %s: %w", at, err)
	}
	return pair, nil
}

// parseKeySecret reads the pair from a Secret of the type kubernetes.io/tls.
func parseKeySecret(secret *corev1.Secret, from string) (engine.Credentials, error) {
	key, err := fleetkey.Parse(string(secret.Data[corev1.TLSCertKey]), string(secret.Data[corev1.TLSPrivateKeyKey]), time.Now())
	if spec, ok := errors.AsType[*engine.SpecError](err); ok {
		half := corev1.TLSPrivateKeyKey
		if spec.Field.RootName() == lxdCertificate {
			half = corev1.TLSCertKey
		}
		return engine.Credentials{}, unusableError("Its "+corev1.TLSCertKey+" and "+corev1.TLSPrivateKeyKey+" must be one pair in PEM. "+spec.Hint,
			"the key pair for LXD in the %s cannot be used: %s: %s", from, half, spec.Message)
	}
	return key.Credentials, err
}
