//! Arrays that Python and KL1 share: the same memory, without copies.

use engine::{Arrays, View};
use pyo3::exceptions::{PyIndexError, PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, OnceLock};

/// The memory that all sessions of this process share with it.
static MEMORY: OnceLock<Arrays> = OnceLock::new();

/// Memories of other processes that this one looks at.
static OTHERS: Mutex<Vec<Arrays>> = Mutex::new(Vec::new());

pub(crate) fn memory() -> Arrays {
    MEMORY.get_or_init(Arrays::default).clone()
}

/// An array of floats that KL1 programs share: what KL1 calls an array. NumPy sees its memory (`numpy.asarray`), and
/// keeps it.
#[pyclass(frozen, sequence, module = "fifth")]
pub struct SharedArray {
    view: View,
}

impl SharedArray {
    /// The array of a term, if this process has made it.
    pub(crate) fn of(first: i64, size: i64) -> Option<SharedArray> {
        let [first, size] = [first, size].map(|number| usize::try_from(number).ok());
        Some(SharedArray { view: memory().view(first?, size?)? })
    }
    /// What KL1 knows it by, which has it from now on; `None`: it is in another memory.
    pub(crate) fn given(&self) -> Option<[i64; 2]> {
        if !self.view.arrays().is(&memory()) {
            return None;
        }
        self.view.leave();
        Some([self.view.first() as i64, self.view.size() as i64])
    }
    fn index(&self, index: isize) -> PyResult<usize> {
        let size = self.view.size() as isize;
        let from_start = if index < 0 { index + size } else { index };
        usize::try_from(from_start)
            .ok()
            .filter(|_| from_start < size)
            .ok_or_else(|| PyIndexError::new_err(format!("index {index} of an array of {size} floats")))
    }
}

#[pymethods]
impl SharedArray {
    fn __len__(&self) -> usize {
        self.view.size()
    }
    fn __getitem__(&self, index: isize) -> PyResult<f64> {
        let index = self.index(index)?;
        self.view.get(index).ok_or_else(|| PyIndexError::new_err("no such element"))
    }
    fn __setitem__(&self, index: isize, value: f64) -> PyResult<()> {
        let index = self.index(index)?;
        self.view.set(index, value);
        Ok(())
    }
    fn __repr__(&self) -> String {
        format!("<fifth.SharedArray of {} floats>", self.view.size())
    }
    /// Where it is: NumPy makes an array of it that keeps this one.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let told = PyDict::new(py);
        told.set_item("version", 3)?;
        told.set_item("shape", (self.view.size(),))?;
        told.set_item("typestr", "<f8")?;
        told.set_item("data", (self.view.address(), false))?;
        Ok(told)
    }
    /// A descriptor of its memory, the memory's bytes, where it begins, and its size: for another process.
    fn _share(&self) -> PyResult<(i32, u64, usize, usize)> {
        let file = self.view.arrays().file().map_err(PyRuntimeError::new_err)?;
        let file = File::from(file);
        let bytes = file.metadata()?.len();
        Ok((file.into_raw_fd(), bytes, self.view.first(), self.view.size()))
    }
}

/// A new array of zeros.
#[pyfunction]
pub(crate) fn shared_array(size: usize) -> PyResult<SharedArray> {
    let view = memory().new_view(size).map_err(PyMemoryError::new_err)?;
    Ok(SharedArray { view })
}

/// The file of a memory, as the system tells it from others.
fn identity(file: &File) -> PyResult<(u64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

fn is_of(arrays: &Arrays, wanted: (u64, u64)) -> bool {
    arrays.file().is_ok_and(|file| identity(&File::from(file)).is_ok_and(|found| found == wanted))
}

/// An array of another process, which shares this descriptor of a memory of this size in bytes. If this process has no
/// memory of its own yet, its sessions have that one.
#[pyfunction]
pub(crate) fn attach_array(
    descriptor: i32,
    bytes: usize,
    first: usize,
    size: usize,
) -> PyResult<SharedArray> {
    let file = File::options().read(true).write(true).open(format!("/proc/self/fd/{descriptor}"))?;
    let wanted = identity(&file)?;
    let mut others = base::lock(&OTHERS);
    let known = MEMORY.get().into_iter().chain(&*others).find(|arrays| is_of(arrays, wanted)).cloned();
    let arrays = known.unwrap_or_else(|| {
        let arrays = Arrays::of_file(file.into(), bytes);
        others.push(arrays.clone());
        MEMORY.get_or_init(|| arrays.clone());
        arrays
    });
    let view = arrays.view_of_other(first, size).map_err(PyRuntimeError::new_err)?;
    Ok(SharedArray { view })
}
