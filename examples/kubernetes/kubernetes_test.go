// Package kubernetes checks firstseen.yml, which runs a daemon on Kubernetes, without a cluster.
package kubernetes

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// objects are those of firstseen.yml.
type objects struct {
	service corev1.Service
	set     appsv1.StatefulSet
	backup  batchv1.CronJob
}

// read decodes firstseen.yml into the types of the API of Kubernetes, and refuses fields that they
// do not have.
func read(t *testing.T) objects {
	t.Helper()
	text, err := os.ReadFile("firstseen.yml")
	if err != nil {
		t.Fatal(err)
	}
	var all objects
	kinds := map[string]any{"v1 Service": &all.service, "apps/v1 StatefulSet": &all.set, "batch/v1 CronJob": &all.backup}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			t.Fatal(err)
		}
		kind := head.APIVersion + " " + head.Kind
		object, ok := kinds[kind]
		if !ok {
			t.Fatalf("got another %q; want one of each of %d kinds", kind, len(kinds))
		}
		delete(kinds, kind)
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if len(kinds) > 0 {
		t.Fatalf("got no %v", kinds)
	}
	return all
}

// TestReferences checks what the API would refuse, or leave waiting: labels, ports and volumes that
// one part names and another has.
func TestReferences(t *testing.T) {
	all := read(t)
	set, pod := all.set.Spec, all.set.Spec.Template
	for label, value := range all.service.Spec.Selector {
		if pod.Labels[label] != value {
			t.Errorf("the Service selects %s=%s; the pods have %v", label, value, pod.Labels)
		}
		if all.backup.Spec.JobTemplate.Spec.Template.Labels[label] == value {
			t.Errorf("the Service selects %s=%s, which the pods of the CronJob also have", label, value)
		}
	}
	for label, value := range set.Selector.MatchLabels {
		if pod.Labels[label] != value {
			t.Errorf("the StatefulSet selects %s=%s; its pods have %v", label, value, pod.Labels)
		}
	}
	if set.ServiceName != all.service.Name || *set.Replicas != 1 {
		t.Errorf("got Service %q and %d replicas; want %q and 1", set.ServiceName, *set.Replicas, all.service.Name)
	}
	ports := map[string]int32{}
	for _, p := range pod.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	for _, p := range all.service.Spec.Ports {
		if ports[p.TargetPort.StrVal] != p.Port {
			t.Errorf("the Service has port %d for %q; the container has %d", p.Port, p.TargetPort.StrVal, ports[p.TargetPort.StrVal])
		}
	}
	checkMounts(t, pod.Spec, set.VolumeClaimTemplates)
	checkMounts(t, all.backup.Spec.JobTemplate.Spec.Template.Spec, nil)
}

// checkMounts checks that all volumes are mounted and all mounts have volumes.
func checkMounts(t *testing.T, pod corev1.PodSpec, claims []corev1.PersistentVolumeClaim) {
	t.Helper()
	var volumes, mounts []string
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
	}
	for _, c := range claims {
		volumes = append(volumes, c.Name)
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts = append(mounts, m.Name)
	}
	slices.Sort(volumes)
	slices.Sort(mounts)
	if !slices.Equal(volumes, mounts) {
		t.Errorf("got volumes %q, mounts %q; want the same", volumes, mounts)
	}
}

// TestProbes checks that probes ask the address of --health, and that the daemon may drain before it
// is killed.
func TestProbes(t *testing.T) {
	all := read(t)
	pod := all.set.Spec.Template.Spec
	c := pod.Containers[0]
	for name, p := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if p == nil || p.HTTPGet == nil || p.HTTPGet.Port.StrVal != "health" {
			t.Fatalf("%s: got %v; want a probe over HTTP of the port health", name, p)
		}
		want := "/healthz"
		if name == "readiness" {
			want = "/readyz"
		}
		if p.HTTPGet.Path != want {
			t.Errorf("%s: got %s; want %s", name, p.HTTPGet.Path, want)
		}
	}
	for _, port := range c.Ports {
		flag := port.Name
		if flag == "https" {
			flag = "http"
		}
		if want := fmt.Sprintf("--%s=0.0.0.0:%d", flag, port.ContainerPort); !slices.Contains(c.Args, want) {
			t.Errorf("got %q; want %s", c.Args, want)
		}
	}
	const drain = 20 * time.Second // the default of --drain
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace < 2*drain {
		t.Errorf("got a grace period of %v; want twice the drain", grace)
	}
}

// TestArguments runs serve --check with the arguments of the daemon, in a directory that has what
// the volumes would have, and reads the command of the backup with the files of its volumes.
func TestArguments(t *testing.T) {
	all := read(t)
	dir := t.TempDir()
	program := os.Getenv("FIRSTSEEN_BIN") // what make has linked
	if program == "" {
		program = filepath.Join(dir, "firstseen")
		if out, err := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-o", program, "./cmd/firstseen").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	pod := all.set.Spec.Template.Spec
	fill(t, dir, pod)
	args := append(inDir(dir, pod.Containers[0].Args), "--check")
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "ok\n") {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
	if err := os.Remove(filepath.Join(dir, "tokens", "tokens")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err == nil {
		t.Errorf("without the token file: got %s; want an error", out)
	}
	job := all.backup.Spec.JobTemplate.Spec.Template.Spec
	backups := t.TempDir()
	fill(t, backups, job)
	args = inDir(backups, job.Containers[0].Args)
	out, err := exec.Command(program, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "https://firstseen:7072") || strings.Contains(string(out), "unknown flag") {
		t.Errorf("%q: %v\n%s\nwant that the command reads its files, and finds no daemon", args, err, out)
	}
}

// inDir returns arguments in which absolute paths are in a directory.
func inDir(dir string, args []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		out[i] = strings.Replace(arg, "=/", "="+dir+"/", 1)
	}
	return out
}

// fill makes the mounts of a pod in a directory, with the files of its secrets.
func fill(t *testing.T, dir string, pod corev1.PodSpec) {
	t.Helper()
	places := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		places[m.Name] = filepath.Join(dir, m.MountPath)
		if err := os.MkdirAll(places[m.Name], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cert, key := certificate(t)
	contents := map[string][]byte{"tls.crt": cert, "ca.crt": cert, "tls.key": key,
		"tokens": []byte("admin 0123456789abcdef name=backup\n"), "backup.token": []byte("0123456789abcdef\n")}
	for _, v := range pod.Volumes {
		if v.Secret == nil {
			continue
		}
		mode := os.FileMode(corev1.SecretVolumeSourceDefaultMode)
		if v.Secret.DefaultMode != nil {
			mode = os.FileMode(*v.Secret.DefaultMode)
		}
		for _, item := range v.Secret.Items {
			if contents[item.Key] == nil {
				t.Fatalf("got key %q of %s; want one that the head of the file makes", item.Key, v.Secret.SecretName)
			}
			if err := os.WriteFile(path.Join(places[v.Name], item.Path), contents[item.Key], mode); err != nil {
				t.Fatal(err)
			}
		}
	}
}
