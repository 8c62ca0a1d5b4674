package composition_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"biztraak.dev/vm/internal/catalog/composition"
)

// The keys are text of the right form and open nothing: the private one is the
// word "test" repeated.
const (
	platformKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA platform"
	hostKey     = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ first"
)

func privateKey() string {
	const kind = "OPENSSH PRIVATE KEY"
	return "-----BEGIN " + kind + "-----\n" + strings.Repeat(strings.Repeat("dGVz", 16)+"\n", 5) + "-----END " + kind + "-----\n"
}

func input() composition.CloudConfigInput {
	return composition.CloudConfigInput{PlatformKey: platformKey, HostPublicKey: hostKey, HostPrivateKey: privateKey()}
}

func TestCloudConfigIsGolden(t *testing.T) {
	got, err := composition.CloudConfig(input())
	require.NoError(t, err)
	require.Less(t, len(got), 4096)
	// The golden file must not look like a real key to those who search for
	// leaked ones.
	got = []byte(strings.ReplaceAll(string(got), "OPENSSH PRIVATE KEY", "TEST TEXT"))
	if *update {
		require.NoError(t, os.WriteFile("testdata/cloud-config.yaml", got, 0o600))
	}
	want, err := os.ReadFile("testdata/cloud-config.yaml")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestCloudConfigKeepsTheKeys(t *testing.T) {
	text, err := composition.CloudConfig(input())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "#cloud-config\n"))
	var document struct {
		Users []struct {
			Name string
			Keys []string `yaml:"ssh_authorized_keys"`
		}
		HostKeys map[string]string `yaml:"ssh_keys"`
	}
	require.NoError(t, yaml.Unmarshal(text, &document))
	require.Len(t, document.Users, 1)
	require.Equal(t, "biztraak", document.Users[0].Name)
	require.Equal(t, []string{platformKey}, document.Users[0].Keys)
	require.Equal(t, map[string]string{"ed25519_private": privateKey(), "ed25519_public": hostKey}, document.HostKeys)
}

func TestCloudConfigIgnoresSpaceAroundKeys(t *testing.T) {
	want, err := composition.CloudConfig(input())
	require.NoError(t, err)
	got, err := composition.CloudConfig(composition.CloudConfigInput{
		PlatformKey: platformKey + "\n", HostPublicKey: hostKey + "\n", HostPrivateKey: "\n" + privateKey() + "\n",
	})
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestCloudConfigRefuses(t *testing.T) {
	cases := map[string]struct {
		change func(*composition.CloudConfigInput)
		want   string
	}{
		"no platform key":        {func(in *composition.CloudConfigInput) { in.PlatformKey = "" }, "platform key"},
		"two platform keys":      {func(in *composition.CloudConfigInput) { in.PlatformKey += "\n" + hostKey }, "platform key"},
		"options before the key": {func(in *composition.CloudConfigInput) { in.PlatformKey = "no-pty " + in.PlatformKey }, "platform key"},
		"a key of another type": {func(in *composition.CloudConfigInput) {
			in.PlatformKey = strings.Replace(in.PlatformKey, "ssh-ed25519", "ssh-rsa", 1)
		}, "platform key"},
		"no host public key":        {func(in *composition.CloudConfigInput) { in.HostPublicKey = "ssh-ed25519" }, "host public key"},
		"a host key of other type":  {func(in *composition.CloudConfigInput) { in.HostPublicKey = "ssh-rsa AAAAB3NzaC1yc2E=" }, "host public key"},
		"no host private key":       {func(in *composition.CloudConfigInput) { in.HostPrivateKey = "" }, "host private key"},
		"two host private keys":     {func(in *composition.CloudConfigInput) { in.HostPrivateKey += privateKey() }, "host private key"},
		"another kind of PEM":       {func(in *composition.CloudConfigInput) { in.HostPrivateKey = "-----BEGIN A-----\n-----END A-----\n" }, "host private key"},
		"more than clouds can take": {func(in *composition.CloudConfigInput) { in.PlatformKey += strings.Repeat("x", 4000) }, "the limit is 4096"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := input()
			c.change(&in)
			text, err := composition.CloudConfig(in)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "dGVz", "an error must not show the private key")
			require.Nil(t, text)
		})
	}
}
