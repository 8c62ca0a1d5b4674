// Package archtest holds the test that keeps the rooms apart: who may import
// whom, and which libraries stay in which room. It has no code of its own.
package archtest
