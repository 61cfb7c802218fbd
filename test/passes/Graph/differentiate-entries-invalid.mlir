// RUN: dist-opt %s --graph-differentiate=entries=other -verify-diagnostics

// expected-error @+1 {{the module has no function 'other'}}
module {}
