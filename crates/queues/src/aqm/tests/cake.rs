//! Tests of CAKE.
