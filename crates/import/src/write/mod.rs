//! Writers: conversion of a topology to the text of a file.

pub mod demands;
pub mod graphml;
mod parts;
pub mod scenario;
mod settle;
