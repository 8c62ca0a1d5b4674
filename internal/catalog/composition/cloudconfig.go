package composition

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// maxCloudConfig keeps the document in bytes far below the smallest user data
// limit of any cloud (EC2: 16 KiB), so that it always fits.
const maxCloudConfig = 4096

// journaldSettings make the journal survive a restart, because it is the
// source of the system log, and drop nothing however fast it is written.
const journaldSettings = "[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\n"

// CloudConfigInput is what differs from guest to guest.
type CloudConfigInput struct {
	// PlatformKey is the platform's SSH public key, one line as in
	// authorized_keys.
	PlatformKey string
	// HostPrivateKey is the ed25519 host key of the first connection, as an
	// OpenSSH private key in PEM. A cloud keeps user data readable, so the
	// guest makes a new one over that connection and this one is removed.
	HostPrivateKey string
	// HostPublicKey is its public half, one line.
	HostPublicKey string
}

// cloudConfig has the modules of cloud-init that a guest needs until the first
// SSH connection; the composition itself is applied over SSH.
type cloudConfig struct {
	Users       []cloudUser `yaml:"users"`
	PasswordSSH bool        `yaml:"ssh_pwauth"`
	DisableRoot bool        `yaml:"disable_root"`
	DeleteKeys  bool        `yaml:"ssh_deletekeys"`
	HostKeys    hostKeys    `yaml:"ssh_keys"`
	Files       []cloudFile `yaml:"write_files"`
	Commands    [][]string  `yaml:"runcmd"`
}

type cloudUser struct {
	Name         string   `yaml:"name"`
	Shell        string   `yaml:"shell"`
	Sudo         string   `yaml:"sudo"`
	LockPassword bool     `yaml:"lock_passwd"`
	Keys         []string `yaml:"ssh_authorized_keys"`
}

type hostKeys struct {
	Private string `yaml:"ed25519_private"`
	Public  string `yaml:"ed25519_public"`
}

type cloudFile struct {
	Path        string `yaml:"path"`
	Permissions string `yaml:"permissions"`
	Content     string `yaml:"content"`
}

// CloudConfig writes the #cloud-config document for a guest's first boot: the
// platform's user and key, the first host key and the journal settings. The
// same input gives the same bytes, less than 4 KiB. It fails if a key is not
// of the form that it should have.
func CloudConfig(in CloudConfigInput) ([]byte, error) {
	if err := in.check(); err != nil {
		return nil, fmt.Errorf("make cloud-config: %w", err)
	}
	var out bytes.Buffer
	out.WriteString("#cloud-config\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(in.document()), encoder.Close()); err != nil {
		return nil, fmt.Errorf("make cloud-config: %w", err)
	}
	if out.Len() >= maxCloudConfig {
		return nil, fmt.Errorf("make cloud-config: %d bytes, and the limit is %d", out.Len(), maxCloudConfig)
	}
	return out.Bytes(), nil
}

func (in CloudConfigInput) document() cloudConfig {
	return cloudConfig{
		Users: []cloudUser{{
			Name:         manifest.GuestUser,
			Shell:        "/bin/bash",
			Sudo:         "ALL=(ALL) NOPASSWD:ALL",
			LockPassword: true,
			Keys:         []string{strings.TrimSpace(in.PlatformKey)},
		}},
		DisableRoot: true,
		// Host keys that came with the image are known to others.
		DeleteKeys: true,
		HostKeys: hostKeys{
			// OpenSSH does not read a private key without the last line feed.
			Private: strings.TrimSpace(in.HostPrivateKey) + "\n",
			Public:  strings.TrimSpace(in.HostPublicKey),
		},
		Files: []cloudFile{{
			Path:        "/etc/systemd/journald.conf.d/10-biztraak.conf",
			Permissions: "0644",
			Content:     journaldSettings,
		}},
		Commands: [][]string{
			{"systemctl", "restart", "systemd-journald.service"},
			// What was logged before the restart goes to the disk as well.
			{"journalctl", "--flush"},
		},
	}
}

func (in CloudConfigInput) check() error {
	if err := checkPublicKey(in.PlatformKey); err != nil {
		return fmt.Errorf("platform key: %w", err)
	}
	if err := checkPublicKey(in.HostPublicKey); err != nil {
		return fmt.Errorf("host public key: %w", err)
	}
	if !strings.HasPrefix(in.HostPublicKey, "ssh-ed25519 ") {
		return errors.New("host public key: is not an ed25519 key")
	}
	block, rest := pem.Decode([]byte(strings.TrimSpace(in.HostPrivateKey)))
	if block == nil || block.Type != "OPENSSH PRIVATE KEY" || len(rest) > 0 {
		return errors.New("host private key: is not one OpenSSH private key in PEM")
	}
	return nil
}

// checkPublicKey looks at the form only: a line that breaks would add options
// or further keys to a file of the guest.
func checkPublicKey(key string) error {
	fields := strings.Fields(key)
	if strings.ContainsAny(strings.TrimSpace(key), "\r\n") || len(fields) < 2 {
		return errors.New("is not one line of an SSH public key")
	}
	// The blob starts with the type once more, after its length (RFC 4253, 6.6).
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || !strings.HasPrefix(string(blob), "\x00\x00\x00"+string([]byte{byte(len(fields[0]))})+fields[0]) {
		return errors.New("is not an SSH public key of the type that it names")
	}
	return nil
}
