package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pathMounts pairs each path in a container with the folder that stands for it.
type pathMounts []string

// replacePaths replaces paths in the container by the paths of the folders.
func (m pathMounts) replacePaths(texts []string) []string {
	var moved []string
	for _, text := range texts {
		moved = append(moved, strings.NewReplacer(m...).Replace(text))
	}
	return moved
}

// podRunner gives a process what its container would have: volumes and
// environment variables.
type podRunner struct{ *ControlPlane }

// mountVolumes makes a folder for each of a container's volumes. Each time it
// writes the cluster's Secrets and ConfigMaps into their folders. Other files
// in the folders stay.
func (c podRunner) mountVolumes(ctx context.Context, namespace, home string, volumes []corev1.Volume, into []corev1.VolumeMount) (pathMounts, error) {
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	var folders pathMounts
	for _, volume := range volumes {
		if err := c.prepareClaimFolder(ctx, namespace, filepath.Join(home, volume.Name), volume.PersistentVolumeClaim); err != nil {
			return nil, fmt.Errorf("volume %s: %w", volume.Name, err)
		}
	}
	for _, mount := range into {
		folder := filepath.Join(home, mount.Name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		folders = append(folders, strings.TrimSuffix(mount.MountPath, "/"), folder)
	}
	for _, volume := range volumes {
		files, err := c.volumeFiles(ctx, namespace, volume)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", volume.Name, err)
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(home, volume.Name, name), content, 0o600); err != nil {
				return nil, err
			}
		}
	}
	return folders, nil
}

// prepareClaimFolder empties the folder of a claim if it was filled for an
// older claim: deleting a claim deletes its volume's contents. A pod whose
// claim is being deleted never starts.
func (c podRunner) prepareClaimFolder(ctx context.Context, namespace, folder string, of *corev1.PersistentVolumeClaimVolumeSource) error {
	if of == nil {
		return nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: of.ClaimName}, claim); err != nil {
		return err
	}
	if !claim.DeletionTimestamp.IsZero() {
		return fmt.Errorf("claim %s is being deleted", of.ClaimName)
	}
	note := folder + ".claim"
	noted, err := os.ReadFile(note)
	if err == nil && string(noted) == string(claim.UID) {
		return nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.WriteFile(note, []byte(claim.UID), 0o600)
}

// volumeFiles are the files of a Secret's or ConfigMap's volume. A missing
// object has none: nobody issues the certificates that manifests request from
// cert-manager.
func (c podRunner) volumeFiles(ctx context.Context, namespace string, v corev1.Volume) (map[string][]byte, error) {
	files := map[string][]byte{}
	switch {
	case v.Secret != nil:
		secret := &corev1.Secret{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v.Secret.SecretName}, secret)
		return secret.Data, ignoreNotFound(err)
	case v.ConfigMap != nil:
		config := &corev1.ConfigMap{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v.ConfigMap.Name}, config)
		for name, text := range config.Data {
			files[name] = []byte(text)
		}
		return files, ignoreNotFound(err)
	}
	return nil, nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// containerEnvironment is the container's variables, the API server's address,
// and the credentials for it.
func (c podRunner) containerEnvironment(ctx context.Context, m Manager, pod corev1.PodSpec, variables []corev1.EnvVar) ([]string, error) {
	kubeconfig, err := c.ServiceAccountKubeconfig(ctx, m.Namespace, pod.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	env := []string{"KUBECONFIG=" + kubeconfig, "HOME=" + filepath.Join(c.Dir, m.Deployment), "PATH=" + os.Getenv("PATH")}
	for _, variable := range variables {
		value, set, err := c.variableValue(ctx, m, pod, variable)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", variable.Name, err)
		}
		if set {
			env = append(env, variable.Name+"="+value)
		}
	}
	return env, nil
}

// expandArgs replaces $(NAME) in the arguments of a container by the variable
// of its environment.
func expandArgs(args, env []string) []string {
	var pairs, all []string
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		pairs = append(pairs, "$("+name+")", value)
	}
	for _, arg := range args {
		all = append(all, strings.NewReplacer(pairs...).Replace(arg))
	}
	return all
}

// variableValue returns a variable's value, and whether it has one.
func (c podRunner) variableValue(ctx context.Context, m Manager, pod corev1.PodSpec, v corev1.EnvVar) (string, bool, error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return v.Value, true, nil
	case from.FieldRef != nil:
		value, err := podField(m, pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.SecretKeyRef != nil:
		secret := &corev1.Secret{}
		ref := from.SecretKeyRef
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: ref.Name}, secret)
		value, found := secret.Data[ref.Key]
		return string(value), found, ignoreIfOptional(err, found, ref.Optional)
	case from.ConfigMapKeyRef != nil:
		config := &corev1.ConfigMap{}
		ref := from.ConfigMapKeyRef
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: ref.Name}, config)
		value, found := config.Data[ref.Key]
		return value, found, ignoreIfOptional(err, found, ref.Optional)
	}
	return "", false, fmt.Errorf("cannot tell a value from %v", from)
}

// ignoreIfOptional is the error of a reference, or nil where the reference is
// optional. With the error a pod would not start.
func ignoreIfOptional(err error, found bool, optional *bool) error {
	if optional != nil && *optional {
		return ignoreNotFound(err)
	}
	if err == nil && !found {
		return errors.New("the key is not there")
	}
	return err
}

// podField is the value of the downward API's field for the only pod.
func podField(m Manager, pod corev1.PodSpec, path string) (string, error) {
	switch path {
	case "metadata.namespace":
		return m.Namespace, nil
	case "metadata.name", "metadata.uid":
		return m.Deployment + "-0", nil
	case "spec.serviceAccountName":
		return pod.ServiceAccountName, nil
	case "spec.nodeName":
		return "kubetest", nil
	case "status.podIP", "status.hostIP":
		return loopback, nil
	}
	return "", fmt.Errorf("cannot tell the pod's field %s", path)
}
