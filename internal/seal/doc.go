// Package seal keeps secrets unreadable at rest: whatever is sealed can be
// opened only with the installation's keyset file, and only in the row it was
// sealed for.
//
// It owns the file and its form. It must not know what the secrets are for, nor
// where the sealed bytes are stored.
package seal
