//! Writers: conversion of a topology to the text of a file.

mod components;
pub mod demands;
pub mod graphml;
mod resolve;
pub mod scenario;
